package reservation

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// since is when plans were first seen to run, by their UIDs and by the clock of this process.
type since map[types.UID]time.Time

// see takes in which plans run now.
func (s since) see(plans map[string]*v1alpha1.ReschedulingPlan, now time.Time) {
	running := sets.New[types.UID]()
	for _, plan := range plans {
		if !plan.Runs() {
			continue
		}
		running.Insert(plan.UID)
		if _, known := s[plan.UID]; !known {
			s[plan.UID] = now
		}
	}
	maps.DeleteFunc(s, func(plan types.UID, _ time.Time) bool { return !running.Has(plan) })
}

// reserves reports whether the room of a plan is to be kept: while it runs, for as long as it may take. That counts from when
// this process saw that it runs, as its times are by another clock; so it is never shorter than for the rescheduler.
func (s since) reserves(plan *v1alpha1.ReschedulingPlan, now time.Time) bool {
	lasts := plan.Lasts()
	if lasts == 0 { // nobody has said
		return plan.Reserves(now)
	}
	began, runs := s[plan.UID]
	return runs && plan.Runs() && now.Before(began.Add(lasts))
}
