package extender_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

// held is a gang of four on four nodes, of which muster holds three members while a door
// keeps the bind call about the last one.
func held(t *testing.T, minMember int64) (w *witness, d *door) {
	t.Helper()
	c := newCluster(t, newNodes(5, "4")...)
	c.createPodGroups(newPodGroup("g", minMember))
	s := c.serve(serving{})
	w, d = s.watch(), s.shutFor("g-3")
	c.schedule(s.schedulerConfig(nil, d.through))
	c.createPods(members("g", 4, "3")...)
	s.awaitHeld("g", 3)
	return w, d
}

func (c *cluster) deletePod(name string) {
	c.Helper()
	if err := c.client.CoreV1().Pods(workload.Namespace).Delete(c.Context(), name, metav1.DeleteOptions{}); err != nil {
		c.Fatal(err)
	}
}

func TestAMemberDeletedWhileHeldIsReplaced(t *testing.T) {
	w, d := held(t, 4)
	w.deletePod("g-0")
	w.awaitHeld("g", 2)
	w.createPods(newPod("g-4", "3", ofGang("g")))
	w.awaitHeld("g", 3)
	d.open()
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestMinMemberIsEditedWhileMembersAreHeld(t *testing.T) {
	t.Run("to as many as are held", func(t *testing.T) {
		w, d := held(t, 4)
		w.editPodGroup("g", 3)
		w.awaits(exactly(map[string]int{"g": 3}))
		d.open()
		w.settles(exactly(map[string]int{"g": 4}))
	})
	t.Run("to more than there are", func(t *testing.T) {
		w, d := held(t, 4)
		w.editPodGroup("g", 5)
		w.eventually("muster has seen it", func() error {
			stages, err := w.stages("g")
			if err == nil && stages["min"] != "5" {
				err = fmt.Errorf("%v", stages)
			}
			return err
		})
		d.open()
		w.awaitHeld("g", 4)
		w.createPods(newPod("g-4", "3", ofGang("g")))
		w.settles(exactly(map[string]int{"g": 5}))
	})
}

func (c *cluster) editPodGroup(name string, minMember int) {
	c.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"minMember": %d}}`, minMember)
	if _, err := c.podGroups(newPodGroup(name, 1)).Patch(c.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		c.Fatal(err)
	}
}

func TestTheSchedulerDiesWhileMembersAreHeld(t *testing.T) {
	w, d := held(t, 4)
	shared.StopScheduler()
	w.awaitHeld("g", 0)
	d.open()
	w.schedule(w.schedulerConfig(nil))
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestMusterDiesWhileMembersAreHeld(t *testing.T) {
	w, d := held(t, 4)
	w.process.Kill()
	w.server = w.serve(serving{})
	d.leadTo(w.server)
	d.open()
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestMusterDiesBetweenQuorumAndTheLastBinding(t *testing.T) {
	c := newCluster(t, newNodes(4, "4")...)
	c.createPodGroups(newPodGroup("g", 4))
	var bindings atomic.Int32
	first := c.serve(serving{kubeconfig: c.bindingsAnswered(func(string) answer {
		if bindings.Add(1) == 1 {
			return nil
		}
		return noAnswer
	})})
	w, d := first.watch(), first.shutFor("nobody")
	c.schedule(first.schedulerConfig(nil, d.through))
	c.createPods(members("g", 4, "3")...)
	w.awaits(exactly(map[string]int{"g": 1}))
	first.process.Kill()
	if bound := w.everBound()["g"]; bound != 1 {
		t.Fatalf("%d of 4 pods are bound when muster has died", bound)
	}
	w.server = c.serve(serving{})
	d.leadTo(w.server)
	w.settles(exactly(map[string]int{"g": 4}))
}

// noAnswer lets the caller wait until it gives up.
func noAnswer(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body) // else it is not noticed when the caller leaves
	<-r.Context().Done()
}

// lostAnswer does what is asked and does not say so.
func lostAnswer(_ http.ResponseWriter, r *http.Request, pass http.Handler) {
	pass.ServeHTTP(httptest.NewRecorder(), r)
	<-r.Context().Done()
}

func failure(err *apierrors.StatusError) answer {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		_, _ = io.Copy(io.Discard, r.Body)
		status := err.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(status.Details.RetryAfterSeconds))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(status.Code))
		_ = json.NewEncoder(w).Encode(status) // the caller may have left
	}
}

func TestBindingsThatTheAPIServerDoesNotMakeAreMadeUpFor(t *testing.T) {
	const each, fail = 4, 2
	pods := schema.GroupResource{Resource: "pods"}
	troubles := map[string]answer{
		"conflict":    failure(apierrors.NewConflict(pods, "p", errors.New("it changed"))),
		"busy":        failure(apierrors.NewTooManyRequests("later", 1)),
		"error":       failure(apierrors.NewInternalError(errors.New("etcd is away"))),
		"unavailable": failure(apierrors.NewServiceUnavailable("starting")),
		"silent":      noAnswer,
		"lost":        lostAnswer,
	}
	c := newCluster(t, newNodes(each*len(troubles), "4")...)
	var mu sync.Mutex
	seen := map[string]int{}
	s := c.serve(serving{
		config: "timeouts: {bind: 5s}",
		kubeconfig: c.bindingsAnswered(func(pod string) answer {
			gang, _, _ := strings.Cut(pod, "-")
			mu.Lock()
			defer mu.Unlock()
			if seen[gang]++; seen[gang] > fail {
				return nil
			}
			return troubles[gang]
		}),
	})
	w := s.watch()
	c.schedule(s.schedulerConfig(nil))
	want := map[string]int{}
	for gang := range troubles {
		want[gang] = each
		c.createPodGroups(newPodGroup(gang, each))
		c.createPods(members(gang, each, "3")...)
	}
	w.settles(exactly(want))
	mu.Lock()
	defer mu.Unlock()
	for gang := range troubles {
		if seen[gang] < fail {
			t.Errorf("%d bindings of %s failed, want %d", seen[gang], gang, fail)
		}
	}
}
