package loop

import (
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
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
