package extender_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
	"muster.dev/muster/e2e/workload"
)

func TestTheSchedulerDiesWhileMembersAreHeld(t *testing.T) {
	w, d := held(t)
	w.StopScheduler()
	w.awaitHeld("g", 0)
	d.open()
	w.Schedule(w.schedulerConfig(nil))
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestMusterDiesWhileMembersAreHeld(t *testing.T) {
	lab.Long(t)
	w, d := held(t)
	w.Must(w.Crash())
	w.server = w.serve(muster.Options{})
	d.leadTo(w.server)
	d.open()
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestMusterDiesBetweenQuorumAndTheLastBinding(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	var bindings atomic.Int32
	first := c.serve(muster.Options{Kubeconfig: c.bindingsAnswered(func(string) relay.Decide {
		if bindings.Add(1) == 1 {
			return nil
		}
		return relay.Silent
	})})
	w, d := first.watch(), first.shutFor("nobody")
	c.Schedule(first.schedulerConfig(nil, d.through))
	c.createPods(workload.NewMembers("g", 4, "3")...)
	w.awaits(exactly(map[string]int{"g": 1}))
	first.Must(first.Crash())
	if bound := w.everBound()["g"]; bound != 1 {
		t.Fatalf("%d of 4 pods are bound when muster has died", bound)
	}
	if r, recorded := c.record("g"); !recorded || r.Members != 4 || r.MinMember != 4 {
		t.Errorf("the record is %+v, there is one: %t", r, recorded)
	}
	w.server = c.serve(muster.Options{})
	d.leadTo(w.server)
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestMusterDiesBetweenTheRecordAndTheFirstBinding(t *testing.T) {
	lab.Long(t)
	c := newCluster(t, workload.NewNodes("node", 4, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	first := c.serve(muster.Options{Kubeconfig: c.bindingsAnswered(func(string) relay.Decide {
		if _, recorded := c.record("g"); !recorded {
			t.Error("a binding comes before the record")
		}
		return relay.Silent
	})})
	w, d := first.watch(), first.shutFor("nobody")
	c.Schedule(first.schedulerConfig(nil, d.through))
	c.createPods(workload.NewMembers("g", 4, "3")...)
	c.Eventually("the start is recorded", func() error {
		if _, recorded := c.record("g"); !recorded {
			return errors.New("it is not")
		}
		return nil
	})
	first.Must(first.Crash())
	// One that needs the same nodes. Nobody is bound, so that nothing was left half done: anybody may have written the record.
	c.createPriorityClass("urgent", 1000, func(class *schedulingv1.PriorityClass) { class.PreemptionPolicy = new(corev1.PreemptNever) })
	c.createPodGroups(workload.NewPodGroup("other", 4))
	c.createPods(workload.NewMembers("other", 4, "3", workload.OfPriority("urgent"))...)
	w.server = c.serve(muster.Options{})
	d.leadTo(w.server)
	w.settles(exactly(map[string]int{"other": 4}))
}

func TestTheAPIServerIsAwayWhenAGangIsComplete(t *testing.T) {
	lab.Long(t)
	w, d := held(t)
	w.StopAPIServer()
	d.open()
	w.EventuallyIs("all bind calls have ended without a binding", 4, func() int { return w.calls("bind", "error") + w.calls("bind", "kept") })
	w.Must(w.StartAPIServer(t.Context()))
	w.settles(exactly(map[string]int{"g": 4}))
}

func TestBindingsThatTheAPIServerDoesNotMakeAreMadeUpFor(t *testing.T) {
	lab.Long(t)
	const each, fail = 4, 2
	pods := schema.GroupResource{Resource: "pods"}
	troubles := map[string]relay.Decide{
		"conflict":    relay.Failure(apierrors.NewConflict(pods, "p", errors.New("it changed"))),
		"busy":        relay.Failure(apierrors.NewTooManyRequests("later", 1)),
		"error":       relay.Failure(apierrors.NewInternalError(errors.New("etcd is away"))),
		"unavailable": relay.Failure(apierrors.NewServiceUnavailable("starting")),
		"silent":      relay.Silent,
		"lost":        relay.Lost,
	}
	c := newCluster(t, workload.NewNodes("node", each*len(troubles), "4")...)
	var mu sync.Mutex
	seen := map[string]int{}
	s := c.serve(muster.Options{
		Text: "timeouts: {bind: 5s}",
		Kubeconfig: c.bindingsAnswered(func(pod string) relay.Decide {
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
	c.Schedule(s.schedulerConfig(nil))
	want := map[string]int{}
	for gang := range troubles {
		want[gang] = each
		c.createPodGroups(workload.NewPodGroup(gang, each))
		c.createPods(workload.NewMembers(gang, each, "3")...)
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
