package policy

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/rescheduler/planner"
)

// Hot finds nodes that are measured to use too much again and again. It is for one goroutine.
type Hot struct {
	meter    *loadaware.Meter
	bars     func(*cluster.Snapshot) bars
	pressure pressure
	samples  int
	streaks  map[types.UID]streak // by the UID of the node
}

// bars are thresholds in percent of what a node offers, by the meter's resources, 0 for none: what makes a node hot, and
// what a node stays below that pods move to.
type bars struct{ high, target []int64 }

// streak is how often in a row a node was found hot.
type streak struct {
	usage *cluster.Usage // that was looked at last
	at    time.Time      // when that was measured
	hot   int
}

// HotSamples is how many measurements in a row must find a node hot: a peak of one or two passes sooner than what moves has
// started elsewhere.
const HotSamples = 3

// NewHot returns one that has seen nothing, for Relieve. A number of measurements in a row must find a node hot.
func NewHot(c *config.RelievePolicy, meter *loadaware.Meter, samples int) *Hot {
	fixed := bars{meter.Amounts(c.HighThresholds), meter.Amounts(c.TargetThresholds)}
	return &Hot{
		meter: meter, bars: func(*cluster.Snapshot) bars { return fixed }, pressure: c.PressureThresholds, samples: samples,
		streaks: map[types.UID]streak{},
	}
}

// Observe looks at what was measured since the last time. evicted is when a pod was last evicted
// from a node, zero for never: figures that are of any time before that are as none.
func (h *Hot) Observe(snap *cluster.Snapshot, evicted func(node string) time.Time) {
	known := make(map[types.UID]streak, len(h.streaks))
	now := sync.OnceValue(func() bars { return h.bars(snap) })
	for node := range snap.Nodes() {
		s := h.streaks[node.UID]
		if s.usage != node.Usage {
			s = h.next(s, node, now().high, evicted)
		}
		known[node.UID] = s
	}
	h.streaks = known
}

// next returns a streak after another look at a node. One that was not measured since is as it was,
// and one that is not known well ends.
func (h *Hot) next(s streak, node *cluster.Node, high []int64, evicted func(node string) time.Time) streak {
	s.usage = node.Usage
	m, known := h.meter.Node(node)
	switch {
	case !known || m.Since.Before(evicted(node.Name)):
		s.hot = 0
	case !m.At.After(s.at):
		return s
	case excess(m.Used, m.Ceilings(high)) >= 1, len(h.pressure.on(node)) > 0:
		s.hot++
	default:
		s.hot = 0
	}
	s.at = m.At
	return s
}

// excess returns the greatest ratio of use to ceiling, of any resource.
func excess(used, ceilings []int64) float64 {
	most := 0.0
	for i, ceiling := range ceilings {
		if ceiling > 0 {
			most = max(most, float64(used[i])/float64(ceiling))
		}
	}
	return most
}

// nodes returns the nodes that were found hot often enough, the nodes that use the most first. It leaves out a
// node whose latest figures are hot but were taken before an eviction.
func (h *Hot) nodes(snap *cluster.Snapshot, high []int64) []*cluster.Node {
	var hot []*cluster.Node
	uses := map[int32]float64{}
	for node := range snap.Nodes() {
		if s := h.streaks[node.UID]; s.hot < h.samples || s.usage != node.Usage {
			continue
		}
		m, _ := h.meter.Node(node)
		uses[node.Index] = excess(m.Used, m.Ceilings(high))
		hot = append(hot, node)
	}
	slices.SortStableFunc(hot, func(a, b *cluster.Node) int { return cmp.Compare(uses[b.Index], uses[a.Index]) })
	return hot
}

// load describes loads to the planner: nodes to be relieved bear the load up to which they are not hot, all
// others stay below their targets. Nobody knows the load of a node that was not measured, so nothing goes
// there.
func (h *Hot) load(now bars, relieved func(*cluster.Node) bool) *planner.Load {
	var counts []int // places of the resources with targets
	for i, threshold := range now.target {
		if threshold > 0 {
			counts = append(counts, i)
		}
	}
	pick := func(amounts []int64) []int64 {
		picked := make([]int64, 0, len(counts))
		for _, i := range counts {
			picked = append(picked, min(amounts[i], planner.MostLoad))
		}
		return picked
	}
	return &planner.Load{
		Amounts: len(counts),
		Node: func(node *cluster.Node) (bears, load []int64) {
			m, known := h.meter.Node(node)
			pressed := h.pressure.on(node)
			if !known || len(pressed) > 0 && !relieved(node) {
				return make([]int64, len(counts)), make([]int64, len(counts))
			}
			thresholds := now.target
			if relieved(node) {
				thresholds = now.high
			}
			below := m.Ceilings(thresholds)
			for i, name := range h.meter.Resources() {
				if below[i]--; thresholds[i] == 0 {
					below[i] = planner.MostLoad
				}
				if slices.Contains(pressed, name) {
					below[i] = min(below[i], m.Used[i]*9/10)
				}
			}
			return pick(below), pick(m.Expected)
		},
		Pod: func(pod *cluster.Pod, on *cluster.Node) []int64 { return pick(h.meter.Pod(pod, on)) },
	}
}

// NewMeter returns the meter that hot nodes are found with.
func NewMeter(c *config.Configuration, o loadaware.Options) *loadaware.Meter {
	resources := sets.KeySet(c.Rescheduler.Relieve.TargetThresholds).Union(sets.KeySet(c.Rescheduler.Balance.Margins))
	return loadaware.NewMeter(c.Profiles, sets.List(resources), o)
}

// pressure is the percentage of time that processes of a node may wait for a resource, for the resources with a
// threshold: cpu and memory. Waiting hurts, whatever the use: limits throttle containers on idle nodes, and a
// busy node may serve everyone in time.
type pressure map[corev1.ResourceName]int64

// on returns the resources that processes of a node wait for too long.
func (p pressure) on(node *cluster.Node) (names []corev1.ResourceName) {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if most := p[name]; most > 0 && pressureOn(node, name) >= float64(most) {
			names = append(names, name)
		}
	}
	return names
}

func pressureOn(node *cluster.Node, name corev1.ResourceName) float64 {
	switch {
	case node.Usage == nil:
		return 0
	case name == corev1.ResourceCPU:
		return node.Usage.Pressure.CPU
	}
	return node.Usage.Pressure.Memory
}

// describe returns a node and what its processes wait for too long, in words; "" when they do not.
func (p pressure) describe(node *cluster.Node) string {
	for _, name := range p.on(node) {
		return fmt.Sprintf("%s, whose processes wait for %s %.0f %% of the time", node.Name, name, pressureOn(node, name))
	}
	return ""
}

// relieve moves pods off nodes that are hot.
func relieve(c *config.DisruptionBudgets, hot *Hot) func(Situation) (*planner.Plan, string) {
	return func(s Situation) (*planner.Plan, string) {
		return hot.relief(*s.Problem, int(c.NodesPerPlan), "no node is hot for long enough")
	}
}

// relief moves pods off nodes that were found hot. most bounds their number, 0 for any number. none says in
// words that there are none.
func (h *Hot) relief(problem planner.Problem, most int, none string) (*planner.Plan, string) {
	now := h.bars(problem.Snapshot)
	nodes := h.nodes(problem.Snapshot, now.high)
	if len(nodes) == 0 {
		return nil, none
	}
	if most > 0 {
		nodes = nodes[:min(most, len(nodes))]
	}
	problem.Load = h.load(now, func(node *cluster.Node) bool { return slices.Contains(nodes, node) })
	var reliefs []planner.Relief
	for _, node := range nodes {
		reliefs = append(reliefs, planner.Relief{Node: node, Why: "relieves " + h.describe(node, now.high)})
	}
	plan := problem.Relieve(reliefs)
	if len(plan.Steps) > 0 {
		return plan, ""
	}
	if len(plan.Kept) == 0 {
		return plan, fmt.Sprintf("pods that are being deleted relieve %s", h.describe(nodes[0], now.high))
	}
	hot := problem.Snapshot.NodeByName(plan.Kept[0].Name)
	return plan, fmt.Sprintf("no pod can leave %s: %s", h.describe(hot, now.high), &plan.Kept[0])
}

// describe returns a node and what it uses too much of, in words.
func (h *Hot) describe(node *cluster.Node, high []int64) string {
	m, _ := h.meter.Node(node)
	for i, ceiling := range m.Ceilings(high) {
		if ceiling > 0 && m.Used[i] >= ceiling {
			return fmt.Sprintf(
				"%s, which uses %.0f %% of its %s", node.Name, 100*float64(m.Used[i])/float64(m.Allocatable[i]), h.meter.Resources()[i],
			)
		}
	}
	if waits := h.pressure.describe(node); waits != "" {
		return waits
	}
	return node.Name
}

// UnevenSamples is how many measurements in a row must find that a node uses much more than the others: more than for
// Relieve, as nobody suffers meanwhile.
const UnevenSamples = 5

// NewUneven returns what finds nodes that use much more than the others, for Balance. It has seen nothing, and
// a number of measurements in a row must find it.
//
// What all nodes together use of what they offer is the mean. A node is hot at the margin above it, and pods move only to
// nodes that stay below that by half of the margin: each move makes the fuller of two nodes less full, and no two undo each
// other.
func NewUneven(c *config.BalancePolicy, meter *loadaware.Meter, samples int) *Hot {
	margins := meter.Amounts(c.Margins)
	around := func(snap *cluster.Snapshot) bars {
		mean := meanOf(snap, meter)
		b := bars{make([]int64, len(margins)), make([]int64, len(margins))}
		for i, margin := range margins {
			if margin > 0 {
				b.high[i] = min(mean[i]+margin, 100)
				b.target[i] = max(b.high[i]-max(margin/2, 1), 1) // 0 stands for none
			}
		}
		return b
	}
	return &Hot{meter: meter, bars: around, samples: samples, streaks: map[types.UID]streak{}}
}

// meanOf returns the mean use of nodes as a share of what they offer, in percent, by the meter's resources.
// Nodes that are not measured do not count.
func meanOf(snap *cluster.Snapshot, meter *loadaware.Meter) []int64 {
	count := len(meter.Resources())
	used, offered, mean := make([]float64, count), make([]float64, count), make([]int64, count)
	for node := range snap.Nodes() {
		m, known := meter.Node(node)
		if !known {
			continue
		}
		for i := range mean {
			used[i] += float64(m.Used[i])
			offered[i] += float64(m.Allocatable[i])
		}
	}
	for i := range mean {
		if offered[i] > 0 {
			mean[i] = int64(100 * used[i] / offered[i])
		}
	}
	return mean
}

// reasonGangForBalance is why members of gangs stay: to move one is to move all.
const reasonGangForBalance = "it is of a gang, and no gang is moved for balance"

// balanced moves pods off nodes that use much more than the others.
func balanced(c *config.DisruptionBudgets, uneven *Hot) func(Situation) (*planner.Plan, string) {
	return func(s Situation) (*planner.Plan, string) {
		if s.Pending > 0 {
			return nil, "pods are pending, which get the room first"
		}
		problem := *s.Problem
		problem.Limits.Hops = 1 // nobody is moved to make room for balance
		before := problem.Rules.Unless
		problem.Rules.Unless = func(pod *cluster.Pod, node *cluster.Node) string {
			if _, member := membership.Of(pod); member || membership.Left(pod) {
				return reasonGangForBalance
			}
			if before != nil {
				return before(pod, node)
			}
			return ""
		}
		return uneven.relief(problem, int(c.NodesPerPlan), "no node uses much more than the others for long enough")
	}
}
