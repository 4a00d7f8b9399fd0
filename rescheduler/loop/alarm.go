package loop

import (
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

// alarm wakes the loop when a plan has changed, or a pod that a plan waits for. It is safe for concurrent use.
type alarm struct {
	bell    chan struct{}                       // of one element
	awaited atomic.Pointer[sets.Set[types.UID]] // pods, and controllers of pods
}

func newAlarm() *alarm { return &alarm{bell: make(chan struct{}, 1)} }

// ring wakes the loop.
func (a *alarm) ring() {
	select {
	case a.bell <- struct{}{}:
	default:
	}
}

// await says what the plans wait for from now on: evicted pods and their replacements, and pods that get room.
// It rings when it awaits others than before: events about them until now were not heard.
func (a *alarm) await(plans []*v1alpha1.ReschedulingPlan) {
	awaited := sets.New[types.UID]()
	for _, plan := range plans {
		if plan.Status.Phase != v1alpha1.Executing {
			continue
		}
		for i := range plan.Spec.Steps {
			if step := &plan.Spec.Steps[i]; plan.Step(i).Phase == v1alpha1.StepEvicted {
				awaited.Insert(step.Pod.UID, step.Controller.UID)
			}
		}
		for _, b := range plan.Spec.Beneficiaries {
			awaited.Insert(b.UID)
		}
	}
	if before := a.awaited.Swap(&awaited); before == nil && awaited.Len() > 0 || before != nil && !before.IsSuperset(awaited) {
		a.ring()
	}
}

// hear rings for a pod that is waited for. It returns at once.
func (a *alarm) hear(state cluster.PodState) {
	awaited := a.awaited.Load()
	if awaited == nil || awaited.Len() == 0 {
		return
	}
	if awaited.Has(state.UID) {
		a.ring()
		return
	}
	if state.Pod == nil {
		return
	}
	if owner := metav1.GetControllerOfNoCopy(state.Pod.Pod); owner != nil && awaited.Has(owner.UID) {
		a.ring()
	}
}

// waits says since when pods wait, by this process's clock: since it first saw them wait. The API server's clock told
// when they were created, and is not compared with it. The zero value has seen nobody. It is for one goroutine.
type waits struct {
	since map[types.UID]time.Time
}

// see notes the pods that wait now.
func (w *waits) see(waiting []*cluster.Pod, now time.Time) {
	next := make(map[types.UID]time.Time, len(waiting))
	for _, pod := range waiting {
		if since, known := w.since[pod.UID]; known {
			next[pod.UID] = since
		} else {
			next[pod.UID] = now
		}
	}
	w.since = next
}

// ripens reports whether a pod has come to wait for so long after that time, and by now.
func (w *waits) ripens(after, now time.Time, enough time.Duration) bool {
	for _, since := range w.since {
		if ripe := since.Add(enough); ripe.After(after) && !ripe.After(now) {
			return true
		}
	}
	return false
}

// ripe returns the pods that have waited for enough time, and that kube-scheduler has refused or muster keeps
// from it. A gang is ripe when its first pod is: it is placed whole, including pods that came later.
func (w *waits) ripe(waiting []*cluster.Pod, now time.Time, enough time.Duration) []*cluster.Pod {
	first := map[membership.Key]time.Time{}
	for _, pod := range waiting {
		key, member := membership.Of(pod)
		since, seen := w.since[pod.UID]
		if earliest, known := first[key]; member && seen && (!known || since.Before(earliest)) {
			first[key] = since
		}
	}
	return slices.DeleteFunc(waiting, func(pod *cluster.Pod) bool {
		since, seen := w.since[pod.UID]
		if key, member := membership.Of(pod); member {
			since, seen = first[key]
		}
		return !seen || now.Sub(since) < enough || !pod.Unschedulable() && !membership.Gated(pod.Pod)
	})
}
