package executor

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// mostDoublings bounds how long a controller cools down whose replacements differ from the pods that were evicted.
const mostDoublings = 6

// coolDown is how long no other plan evicts a pod of a controller after an eviction: twice as long for each one in vain, as
// what replaced the pod was of another kind and did not fit the room. Another plan would fail for the same
// reason, as long as there are pods that the controller would not make as they are.
func (l *Limits) coolDown(controller types.UID, evictions []Eviction) time.Duration {
	inVain := 0
	for i := range evictions {
		if evictions[i].Differs && evictions[i].Step.Controller.UID == controller {
			inVain++
		}
	}
	return l.WorkloadCoolDown << min(inVain, mostDoublings)
}

// RemembersOf is how long the evictions of a plan that has ended are to be known.
func (l *Limits) RemembersOf(plan *v1alpha1.ReschedulingPlan) time.Duration {
	for i := range plan.Status.Steps {
		if plan.Status.Steps[i].Differs {
			return max(l.Remembers(), l.WorkloadCoolDown<<mostDoublings)
		}
	}
	return l.Remembers()
}
