package nomination

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Ended is a nomination that ended.
type Ended struct {
	Pod     string // namespace/name
	Node    string
	Outcome Outcome
	Attempt int
	At      time.Time
}

// history keeps the last nominations that came to nothing, and counts all.
type history struct {
	counts map[Outcome]int
	missed []Ended // the oldest first
}

const keptMissed = 100

func (h *history) add(e Ended) {
	if h.counts == nil {
		h.counts = map[Outcome]int{}
	}
	h.counts[e.Outcome]++
	if e.Outcome == Confirmed {
		return
	}
	if len(h.missed) == keptMissed {
		h.missed = h.missed[1:]
	}
	h.missed = append(h.missed, e)
}

// Pending is a pending pod.
type Pending struct {
	Pod     string // namespace/name
	Stage   string
	Node    string // where it is nominated or was last, "" when never
	Attempt int
	Age     time.Duration // of the stage
}

// Report tells the present work of a Nominator.
type Report struct {
	// Pausing says that nothing is nominated at present, since the API server is slow.
	Pausing bool
	// SteppingAside says that none but gated pods are nominated at present: that saves too little, which is Saving, 0
	// while it is not known, or the scheduler takes pods in another order.
	SteppingAside bool
	Saving        time.Duration
	// Stages counts the pending pods by stage, Ended the nominations by outcome.
	Stages map[string]int
	Ended  map[Outcome]int
	// InFlight are the pods with a nomination that has not ended, the oldest first.
	InFlight []Pending
	// Missed are the last nominations that came to nothing, the newest first.
	Missed []Ended
}

// Report returns the present state.
func (n *Nominator) Report() Report {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := Report{Pausing: n.writer.Pausing(), SteppingAside: n.course.stepsAside(), Stages: map[string]int{}, Ended: map[Outcome]int{}}
	r.Saving, _ = n.course.saving.perPod(n.clock.Now())
	for s := range stages {
		r.Stages[s.String()] = n.course.counts[s]
	}
	for _, outcome := range outcomes() {
		r.Ended[outcome] = n.course.history.counts[outcome]
	}
	for _, p := range n.course.nominees {
		if p.open {
			r.InFlight = append(r.InFlight, n.about(p))
		}
	}
	slices.SortFunc(r.InFlight, func(a, b Pending) int {
		return cmp.Or(cmp.Compare(b.Age, a.Age), cmp.Compare(a.Pod, b.Pod))
	})
	r.Missed = slices.Clone(n.course.history.missed)
	slices.Reverse(r.Missed)
	return r
}

// About says how far a pod is. It says false for one that is not pending or not of a
// profile whose pods are nominated.
func (n *Nominator) About(uid types.UID) (Pending, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.course.nominees[uid]
	if p == nil {
		return Pending{}, false
	}
	return n.about(p), true
}

func (n *Nominator) about(p *nominee) Pending {
	return Pending{Pod: p.pod.FullName(), Stage: p.stage.String(), Node: p.node, Attempt: p.attempts, Age: n.clock.Since(p.since)}
}
