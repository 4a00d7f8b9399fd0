package nomination

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Ended is a nomination that ended.
type Ended struct {
	Pod     string    `json:"pod"` // namespace/name
	Node    string    `json:"node"`
	Outcome Outcome   `json:"why"`
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
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
	Pod        string  `json:"pod"`            // namespace/name
	Node       string  `json:"node,omitempty"` // where it is nominated or was last, "" when never
	Stage      string  `json:"stage"`
	AgeSeconds float64 `json:"ageSeconds"` // of the stage
	Attempt    int     `json:"attempt"`
}

// Report tells the present work of a Nominator.
type Report struct {
	// Pausing says that nothing is nominated at present, since the API server is slow.
	Pausing bool `json:"pausing"`
	// SteppingAside says that none but gated pods are nominated at present: few pods wait, the scheduler takes pods in
	// another order, or it saves too little.
	SteppingAside bool `json:"steppingAside"`
	// SavingSeconds is how much sooner kube-scheduler comes to its next pod by a nomination, 0 while that is not known.
	SavingSeconds float64 `json:"savingSeconds"`
	// Stages counts the pending pods by stage, Ended the nominations by outcome.
	Stages map[string]int  `json:"stages"`
	Ended  map[Outcome]int `json:"ended"`
	// InFlight are the pods with a nomination that has not ended, the oldest first.
	InFlight []Pending `json:"inFlight"`
	// Missed are the last nominations that came to nothing, the newest first.
	Missed []Ended `json:"missed"`
}

// Report returns the present state.
func (n *Nominator) Report() Report {
	n.mu.Lock()
	defer n.mu.Unlock()
	saving, _ := n.course.saving.perPod(n.clock.Now())
	r := Report{
		Pausing: n.writer.Pausing(), SteppingAside: n.course.stepsAside(), SavingSeconds: saving.Seconds(),
		Stages: map[string]int{}, Ended: map[Outcome]int{}, InFlight: []Pending{}, Missed: []Ended{},
	}
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
		return cmp.Or(cmp.Compare(b.AgeSeconds, a.AgeSeconds), cmp.Compare(a.Pod, b.Pod))
	})
	r.Missed = append(r.Missed, n.course.history.missed...)
	slices.Reverse(r.Missed)
	return r
}

// About says how far a pod is. It says false for one that is not pending, not of a profile whose pods are nominated, or
// left to the scheduler as long as nominations save too little.
func (n *Nominator) About(uid types.UID) (Pending, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.course.nominees[uid]
	if p == nil || p.stage == waiting && !p.mustBePlaced() && n.course.stepsAside() {
		return Pending{}, false
	}
	return n.about(p), true
}

func (n *Nominator) about(p *nominee) Pending {
	age := n.clock.Since(p.since).Round(time.Millisecond)
	return Pending{Pod: p.pod.FullName(), Stage: p.stage.String(), Node: p.node, Attempt: p.attempts, AgeSeconds: age.Seconds()}
}
