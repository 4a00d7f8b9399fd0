package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/cluster"
)

// jammed is a bench whose locks are watched over by a clock that the test sets.
type jammed struct {
	*bench
	clock *clocktesting.FakeClock
}

func newJammed(t *testing.T) *jammed {
	b := newBench(t, benchOptions{})
	b.node("a", "4")
	j := &jammed{b, clocktesting.NewFakeClock(time.Now())}
	b.server.registry = prometheus.NewRegistry()
	b.server.canary = b.server.newCanary(j.clock)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.server.canary.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return j
}

// livez lets time pass until /livez answers with a status.
func (j *jammed) livez(want int) (answer string) {
	j.Helper()
	err := wait.PollUntilContextTimeout(j.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		j.clock.Step(time.Second)
		response, err := http.Get(j.url + "/livez")
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		answer = string(body)
		return response.StatusCode == want, err
	})
	if err != nil {
		j.Fatalf("/livez says %q: %v", answer, err)
	}
	return answer
}

func TestLivezNamesTheLockThatIsStuck(t *testing.T) {
	for name, jam := range map[string]func(*jammed) (free func()){
		"verdicts of default-scheduler": func(j *jammed) func() {
			store := j.server.extender.profiles.Of("default-scheduler")
			replica := newPod("p", "1")
			replica.OwnerReferences = []metav1.OwnerReference{{UID: "rs", Controller: new(true)}}
			view := store.View(cluster.NewPod(replica))
			return view.Close
		},
		"the cluster": func(j *jammed) func() {
			freed, began := make(chan struct{}), make(chan struct{})
			stop := j.cluster.FollowPending(func(cluster.PodEvent) {
				close(began)
				<-freed
			})
			go func() { _ = j.cluster.Set(newPod("p", "1")) }()
			<-began
			return func() {
				close(freed)
				stop()
			}
		},
		"bind calls": func(j *jammed) func() {
			j.server.extender.flights.mu.Lock()
			return j.server.extender.flights.mu.Unlock
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJammed(t)
			if got := j.livez(http.StatusOK); got != "ok\n" {
				t.Errorf("/livez says %q", got)
			}
			free := jam(j)
			if got := j.livez(http.StatusServiceUnavailable); !strings.HasPrefix(got, "the lock of "+name+", which ") ||
				!strings.Contains(got, " has not been free for ") {
				t.Errorf("/livez says %q", got)
			}
			free()
			j.livez(http.StatusOK)
		})
	}
}
