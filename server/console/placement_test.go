package console

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/server/servertest"
)

// writes are the names of pods whose nominations an API server was given.
type writes chan string

// Nominate implements [nomination.Client].
func (w writes) Nominate(_ context.Context, pod *corev1.Pod, _ string) error {
	w <- pod.Name
	return nil
}

// newNominated returns a bench with nodes a and b, where a is the emptier one, and pod p, which is
// nominated to it.
func newNominated(t *testing.T) (*bench, *corev1.Pod) {
	t.Helper()
	limits, written := nomination.DefaultLimits(time.Hour), make(writes, 1)
	limits.MinSaving, limits.Gather = 0, time.Millisecond
	b := newBench(t, benchOptions{ahead: &limits, written: written, selection: config.NodeSelectionMuster})
	b.Node("a", "8")
	b.Node("b", "4")
	pod := b.Pending(servertest.Pod("p", "1"))
	if got := <-written; got != "p" {
		t.Fatalf("%s is nominated", got)
	}
	return b, pod
}

func TestThePlacementPageShowsWhatIsInFlight(t *testing.T) {
	b, pod := newNominated(t)
	if status, page := b.Get("/debug/placement"); status != http.StatusOK || !strings.Contains(page, "default/p") {
		t.Errorf("answered %d:\n%s", status, page)
	}
	if _, page := b.Get("/debug/explain?pod=default/p"); !strings.Contains(page, "node a, attempt 1") {
		t.Errorf("the explanation does not tell of the nomination:\n%s", page)
	}
	b.Filter(pod, "a")
	if _, page := b.Get("/debug/explain?pod=default/p"); !strings.Contains(page, "nomination: taken") {
		t.Errorf("the explanation does not tell that the scheduler has the pod:\n%s", page)
	}
}

func TestThePlacementPageSaysWhenThereIsNothingToShow(t *testing.T) {
	b := newBench(t, benchOptions{})
	if status, page := b.Get("/debug/placement"); status != http.StatusNotFound ||
		!strings.HasPrefix(page, "placement: there is no API server") {
		t.Errorf("answered %d: %s", status, page)
	}
}
