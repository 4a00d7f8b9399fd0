package gangfaults

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

const (
	// partialLimit is how long a gang may be bound in part without a word about why.
	partialLimit = 30 * time.Second
	// repairTime is longer than it takes to bind a gang that nothing happens to.
	repairTime = time.Second
	// holdSlack is how much longer than its deadline a call may be held on a busy machine.
	holdSlack = 1500 * time.Millisecond
)

// finding is something that must not be, of one of the kinds below or of the kinds that campaigns share.
type finding = faultcampaign.Finding

// Kinds of findings.
const (
	partialTooLong = "partial"
	startedBelow   = "started below quorum"
	heldTooLong    = "held too long"
	evictedInVain  = "evicted in vain"
	evictedTwice   = "evicted twice"
	keptRoom       = "kept room"
	wroteMuch      = "wrote much"
	letGoUnkept    = "let go without its places"
)

// verdict is the judgement on the fate of gangs.
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
				faultcampaign.Found(
					partialTooLong, "gang %s is bound in part for %s without a word about why", key.name, lasted.Round(time.Millisecond),
				),
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
			findings = append(findings, faultcampaign.Found(
				heldTooLong, "the bind call about pod %s is held for %s, and its deadline is after %s", c.pod, held.Round(time.Millisecond), limit,
			))
		}
	}
	return findings
}

// lifeOf is when a pod was first seen on a node, and gone; zero for never.
func lifeOf(uid types.UID, history []entry) (bound, gone time.Time) {
	for _, e := range history {
		switch {
		case e.pod == nil || e.pod.UID != uid:
		case e.gone:
			gone = e.at
		case e.pod.Spec.NodeName != "" && bound.IsZero():
			bound = e.at
		}
	}
	return bound, gone
}

// cause is why a gang was bound in part for longer than repairTime.
type cause string

// The causes, from the one that explains the most: the last cause of a gang's gaps is told of the gang.
const (
	membersLost  cause = "lost"   // or more were asked for, or a node went
	higherCame   cause = "higher" // a pod of higher priority was bound, or nominated
	wasDisturbed cause = "faults" // a process was down or slow, or a call failed
	nothingIs    cause = "none"
)

func causes() []cause { return []cause{membersLost, higherCame, wasDisturbed, nothingIs} }

// gap is a time in which a gang was bound in part.
type gap struct {
	gang string
	span
	because cause
}

// judgeGaps are the times of a history in which gangs were bound in part for longer than repairTime, whatever was said
// about it. disturbed says that a process or a call that has to do with a gang was disturbed in a span.
func judgeGaps(history []entry, end time.Time, disturbed func(gang string, in span) bool) (gaps []gap) {
	s, open := newState(), map[groupKey]time.Time{}
	for _, e := range history {
		for _, key := range s.apply(e) {
			since, is := open[key]
			switch partial := s.standing(key).partial(); {
			case partial && !is:
				open[key] = e.at
			case !partial && is:
				delete(open, key)
				gaps = append(gaps, gap{gang: key.name, span: span{since, e.at}})
			}
		}
	}
	for key, since := range open {
		gaps = append(gaps, gap{gang: key.name, span: span{since, end}})
	}
	gaps = slices.DeleteFunc(gaps, func(g gap) bool { return g.to.Sub(g.from) <= repairTime })
	for i, g := range gaps {
		around := span{g.from.Add(-repairTime), g.to}
		switch lost, higher := upheavals(history, g.gang); {
		case within(lost, around.from, around.to):
			gaps[i].because = membersLost
		case within(higher, around.from, around.to):
			gaps[i].because = higherCame
		case disturbed(g.gang, around):
			gaps[i].because = wasDisturbed
		default:
			gaps[i].because = nothingIs
		}
	}
	return gaps
}

// upheavals are when members of a gang were lost, something else was asked of it or a node was lost or closed, and when
// pods of higher priority were bound or nominated.
func upheavals(history []entry, gang string) (lost, higher []time.Time) {
	s, priority, asked := newState(), int32(0), 0
	for _, e := range history {
		if e.pod != nil && keyOf(e.pod).name == gang {
			priority = priorityOf(e.pod)
		}
		if isLoss(e, gang) {
			lost = append(lost, e.at)
		}
		if e.pod != nil && keyOf(e.pod).name != gang && priorityOf(e.pod) > priority &&
			(e.pod.Spec.NodeName != "" || e.pod.Status.NominatedNodeName != "") {
			higher = append(higher, e.at)
		}
		for _, key := range s.apply(e) {
			if key.name != gang {
				continue
			}
			asks := s.standing(key).minMember
			if asked > 0 && asks != asked {
				lost = append(lost, e.at)
			}
			asked = max(asks, min(asked, 1)) // what was deleted is not new when it returns
		}
	}
	return lost, higher
}

// isLoss says that a member of a gang is lost, or a node.
func isLoss(e entry, gang string) bool {
	switch {
	case e.node != nil:
		return e.gone || e.node.Spec.Unschedulable
	case e.pod != nil && keyOf(e.pod).name == gang:
		return e.gone || e.pod.DeletionTimestamp != nil || e.pod.Status.Phase == corev1.PodFailed
	default:
		return false
	}
}

// tally counts the gaps of all runs. Its methods are safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	gangs   int
	count   map[cause]int
	remarks []string // about gaps that nothing explains
}

// add takes in the gaps of a run with a number of gangs.
func (t *tally) add(seed uint64, gangs int, gaps []gap) {
	worst := map[string]gap{}
	for _, g := range gaps {
		if slices.Index(causes(), g.because) >= slices.Index(causes(), worst[g.gang].because) {
			worst[g.gang] = g
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == nil {
		t.count = map[cause]int{}
	}
	t.gangs += gangs
	for _, name := range slices.Sorted(maps.Keys(worst)) {
		g := worst[name]
		t.count[g.because]++
		if g.because == nothingIs {
			t.remarks = append(
				t.remarks,
				fmt.Sprintf("seed %d: gang %s is bound in part for %s", seed, name, g.to.Sub(g.from).Round(time.Millisecond)),
			)
		}
	}
}

// figures prints how many gangs of 1,000 were bound in part for longer than repairTime, in all and by what explains it.
func (t *tally) figures(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.remarks) > 0 {
		fmt.Fprintf(out, "nothing explains:\n  %s\n", strings.Join(t.remarks, "\n  "))
	}
	all := 0
	for _, count := range t.count {
		all += count
	}
	rate := func(name string, count int) {
		fmt.Fprintf(out, "figure ahead_partial_1s%s_per_1000=%.1f\n", name, 1000*float64(count)/float64(max(t.gangs, 1)))
	}
	rate("", all)
	for _, c := range causes() {
		rate("_"+string(c), t.count[c])
	}
}

// countGaps counts how often and why plain schedulers leave a gang bound in part.
func (r *run) countGaps(entries []entry, end time.Time) {
	gaps := judgeGaps(entries, end, func(gang string, in span) bool {
		const after = silence + 2*time.Second // until what was spoiled is done again
		early := in.from.Add(-after)
		return r.upsets.touch(span{early, in.to}) || within(r.traffic.spoilsOf(gang), early, in.to)
	})
	r.lane.tally.add(r.script.seed, len(r.script.gangs), gaps)
	for _, g := range gaps {
		r.NoteAt(
			g.from,
			fmt.Sprintf("gang %s is bound in part for %s, explained by: %s", g.gang, g.to.Sub(g.from).Round(time.Millisecond), g.because),
		)
	}
}
