package loop

import (
	"sync"
	"time"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/planner"
)

// run is one look for something to plan.
type run struct {
	At   time.Time
	Took time.Duration
	What string
	Plan string
	// Refused are the pods that the plan does not help, and the ones that it leaves alone.
	Refused []planner.Refusal
}

// journal has the last run of each policy. It is safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	runs map[v1alpha1.Policy]run
}

func newJournal() *journal { return &journal{runs: map[v1alpha1.Policy]run{}} }

func (j *journal) note(policy v1alpha1.Policy, last run) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.runs[policy] = last
}

// last is the zero run when there was none.
func (j *journal) last(policy v1alpha1.Policy) run {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.runs[policy]
}
