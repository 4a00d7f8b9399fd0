package gangfaults

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// cause is why a gang was bound in part for longer than repairTime.
type cause string

// The causes, from the one that explains the most: what is told of a gang is the last of those of its gaps.
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

// tally is what came of the gaps of all runs. Its methods are safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	gangs   int
	count   map[cause]int
	remarks []string // about those that nothing explains
}

// add takes in the gaps of a run with so many gangs.
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

// judgeAhead judges what plain schedulers and muster made of gangs.
func (r *run) judgeAhead(entries []entry, end time.Time) letGo {
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
	return judgeLetGo(entries, r.script.behind)
}
