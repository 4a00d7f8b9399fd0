package gangfaults

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// partialLimit is how long a gang may be bound in part without a word about why.
	partialLimit = 30 * time.Second
	// repairTime is longer than it takes to bind a gang that nothing happens to.
	repairTime = time.Second
	// holdSlack is how much longer than its deadline a call may be held on a busy machine.
	holdSlack = 1500 * time.Millisecond
)

// finding is something that must not be.
type finding struct {
	what string // one of the kinds below
	text string
}

func (f finding) String() string { return f.what + ": " + f.text }

// Kinds of findings.
const (
	partialTooLong = "partial"
	boundTwice     = "bound twice"
	overcommitted  = "overcommitted"
	startedBelow   = "started below quorum"
	heldTooLong    = "held too long"
	neverSettles   = "never settles"
	complained     = "the scheduler complains"
	panicked       = "muster panics"
	evictedInVain  = "evicted in vain"
	evictedTwice   = "evicted twice"
	keptRoom       = "kept room"
	wroteMuch      = "wrote much"
	letGoUnkept    = "let go without its places"
)

// verdict is what came of judging what became of gangs.
type verdict struct {
	findings []finding
	started  int           // gangs that were whole once
	gated    int           // pods that were kept back by a gate
	repaired int           // gaps of more than repairTime in which a gang was bound in part
	longest  time.Duration // that one was, without a word about why
}

// inOrder sorts a history as things happened.
func inOrder(history []entry) {
	slices.SortStableFunc(history, func(a, b entry) int { return cmp.Compare(a.version, b.version) })
}

// judgeGangs replays a history that is in order and whose end is the end of the run.
func judgeGangs(history []entry, end time.Time) verdict {
	var v verdict
	s := newState()
	partial := map[groupKey]time.Time{} // without a word, since when
	whole, gated := map[groupKey]bool{}, sets.New[types.UID]()
	over := func(key groupKey, at time.Time) {
		since, was := partial[key]
		if !was {
			return
		}
		delete(partial, key)
		lasted := at.Sub(since)
		v.longest = max(v.longest, lasted)
		if lasted > repairTime {
			v.repaired++
		}
		if lasted > partialLimit {
			v.findings = append(
				v.findings,
				finding{
					partialTooLong, fmt.Sprintf("gang %s is bound in part for %s without a word about why", key.name, lasted.Round(time.Millisecond)),
				},
			)
		}
	}
	for _, e := range history {
		if e.pod != nil && len(e.pod.Spec.SchedulingGates) > 0 {
			gated.Insert(e.pod.UID)
		}
		for _, key := range s.apply(e) {
			g := s.standing(key)
			whole[key] = whole[key] || g.whole()
			if !g.partial() || g.reason != "" {
				over(key, e.at)
			} else if _, was := partial[key]; !was {
				partial[key] = e.at
			}
		}
	}
	for key := range partial {
		over(key, end)
	}
	v.gated = gated.Len()
	for _, once := range whole {
		if once {
			v.started++
		}
	}
	return v
}

// judgeHolds holds the bind calls against the deadlines of gangs, by name.
func judgeHolds(calls []call, deadline map[string]time.Duration, end time.Time) (findings []finding) {
	for _, c := range calls {
		limit, known := deadline[c.gang]
		if !known {
			continue
		}
		until := end
		for _, at := range []time.Time{c.ended, c.let} {
			if !at.IsZero() && at.Before(until) {
				until = at
			}
		}
		if held := until.Sub(c.arrived); held > limit+holdSlack {
			findings = append(findings, finding{heldTooLong, fmt.Sprintf("the bind call about pod %s is held for %s, and its deadline is after %s",
				c.pod, held.Round(time.Millisecond), limit)})
		}
	}
	return findings
}
