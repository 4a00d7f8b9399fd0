package policy

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/rescheduler/planner"
)

// leastGain is the part of a node by which the new one must be taken less: a restart is not worth less.
const leastGain = 0.1

// respread moves pods onto nodes that have joined lately. How much of a node is taken is its
// share: of the requests for CPU or memory, whichever are the greater part. A move is worth it
// when the new node is taken less with the pod than the other one was, by leastGain at least. So
// the shares of all nodes, the greatest first, are less in dictionary order after each move, and
// no two moves undo each other.
func respread(c *config.RespreadPolicy) func(Situation) (*planner.Plan, string) {
	return func(s Situation) (*planner.Plan, string) {
		if s.Pending > 0 {
			return nil, fmt.Sprintf("pods are pending: %d", s.Pending)
		}
		b := &balance{
			Problem:   s.Problem,
			gain:      leastGain,
			shares:    map[int32]share{},
			workloads: planner.WorkloadsOf(s.Problem.Snapshot),
		}
		now := s.Problem.Clock.Now()
		for node := range s.Problem.Snapshot.Nodes() {
			if now.Sub(node.CreationTimestamp.Time) < c.NewFor.Duration {
				b.fresh = append(b.fresh, node)
			} else {
				b.old = append(b.old, node)
			}
			b.shares[node.Index] = shareOf(planner.Settled(node, s.Problem.Clock.Now()))
		}
		if len(b.fresh) == 0 {
			return nil, "no node is new"
		}
		wishes := b.wishes()
		if len(wishes) == 0 {
			return nil, "nothing would be gained by moving pods onto new nodes"
		}
		problem := *s.Problem
		problem.Limits.Hops = 1 // nobody is moved to make room for balance
		plan := problem.Relocate(wishes)
		plan.Unmoved = nil // nobody has to move
		if len(plan.Steps) > 0 {
			return plan, ""
		}
		return plan, "no pod that should may move onto a new node"
	}
}

// share is how much of a node is taken.
type share struct{ cpu, memory, ofCPU, ofMemory int64 }

func shareOf(node *cluster.Node) share {
	return share{node.Requested.MilliCPU, node.Requested.Memory, node.Allocatable.MilliCPU, node.Allocatable.Memory}
}

// with returns the share with a pod more, or with -1 a pod less.
func (s share) with(pod *cluster.Pod, sign int64) share {
	s.cpu += sign * pod.Requests.MilliCPU
	s.memory += sign * pod.Requests.Memory
	return s
}

func (s share) value() float64 { return max(part(s.cpu, s.ofCPU), part(s.memory, s.ofMemory)) }

func part(taken, of int64) float64 {
	switch {
	case taken <= 0:
		return 0
	case of <= 0:
		return math.Inf(1)
	}
	return float64(taken) / float64(of)
}

// balance is the search for pods that should move onto new nodes. Whether they can is up to the
// planner, which asks again whether it is worth it, with what has moved by then.
type balance struct {
	*planner.Problem
	gain       float64
	fresh, old []*cluster.Node
	shares     map[int32]share // by node index
	moved      planned
	workloads  *planner.Workloads
}

// spare is how many wishes there are beyond the pods that would make a balance, since some of these may not go.
const spare = 100

// wishes returns the pods that should move, in an order in which each leaves the node that is taken most by
// then. More follow to replace pods that cannot go.
func (s *balance) wishes() []planner.Wish {
	var wishes []planner.Wish
	taken := map[types.UID]bool{}
	for {
		pod, from, to := s.best(taken)
		if pod == nil {
			break
		}
		taken[pod.UID] = true
		s.shares[from.Index], s.shares[to.Index] = s.shares[from.Index].with(pod, -1), s.shares[to.Index].with(pod, +1)
		s.moved.count(pod, from)
		wishes = append(wishes, s.wish(pod, from))
	}
	if len(wishes) == 0 {
		return nil
	}
	most := len(wishes) + spare
	for _, from := range s.old {
		for _, pod := range from.Pods {
			if len(wishes) < most && !taken[pod.UID] && s.movable(pod, from) {
				wishes = append(wishes, s.wish(pod, from))
			}
		}
	}
	return wishes
}

func (s *balance) wish(pod *cluster.Pod, from *cluster.Node) planner.Wish {
	return planner.Wish{
		Pod: pod, Why: fmt.Sprintf("takes a part of what %s has onto a new node", from.Name),
		To: func(to *cluster.Node) bool {
			return slices.ContainsFunc(s.fresh, func(fresh *cluster.Node) bool { return fresh.Index == to.Index })
		},
		Worth: func(from, to *cluster.Node) bool {
			before := shareOf(planner.Settled(from, s.Clock.Now()))
			if from.Pod(pod.UID) == nil {
				before = before.with(pod, +1)
			}
			return s.worth(before, shareOf(planner.Settled(to, s.Clock.Now())), pod)
		},
	}
}

// worth reports whether a pod should go from a node that it is on to another one.
func (s *balance) worth(from, to share, pod *cluster.Pod) bool {
	return from.value()-to.with(pod, +1).value() >= s.gain
}

// best returns the next pod to move. It leaves the node that is taken most, of the nodes where a move is worth
// it. The pod is the one whose move leaves the less taken of the two nodes the least behind the other.
func (s *balance) best(taken map[types.UID]bool) (best *cluster.Pod, from, to *cluster.Node) {
	slices.SortStableFunc(s.old, func(a, b *cluster.Node) int {
		return cmp.Compare(s.shares[b.Index].value(), s.shares[a.Index].value())
	})
	for _, from := range s.old {
		least := math.Inf(1)
		for _, pod := range from.Pods {
			if taken[pod.UID] || !s.moved.allows(&s.Budgets, pod, from) || !s.movable(pod, from) {
				continue
			}
			for _, node := range s.fresh {
				if !s.worth(s.shares[from.Index], s.shares[node.Index], pod) {
					continue
				}
				after := max(s.shares[from.Index].with(pod, -1).value(), s.shares[node.Index].with(pod, +1).value())
				if after < least || after == least && priority(pod) < priority(best) {
					best, to, least = pod, node, after
				}
			}
		}
		if best != nil {
			return best, from, to
		}
	}
	return nil, nil, nil
}

func priority(pod *cluster.Pod) int32 { return corev1helpers.PodPriority(pod.Pod) }

// movable reports whether a pod may be moved for balance: gangs are not.
func (s *balance) movable(pod *cluster.Pod, from *cluster.Node) bool {
	if _, member := membership.Of(pod); member || membership.Left(pod) {
		return false
	}
	return max(pod.Requests.MilliCPU, pod.Requests.Memory) > 0 && s.Rules.Protects(pod, from, s.workloads, s.Clock.Now()) == ""
}

// planned counts pods by the budgets of a plan. The planner does so as well, and by others.
type planned struct {
	total       int
	byNode      map[int32]int
	byNamespace map[string]int
	byWorkload  map[types.UID]int
}

func (p *planned) count(pod *cluster.Pod, from *cluster.Node) {
	if p.byNode == nil {
		p.byNode, p.byNamespace, p.byWorkload = map[int32]int{}, map[string]int{}, map[types.UID]int{}
	}
	p.total++
	p.byNode[from.Index]++
	p.byNamespace[pod.Namespace]++
	p.byWorkload[workload(pod)]++
}

func (p *planned) allows(b *planner.Budgets, pod *cluster.Pod, from *cluster.Node) bool {
	below := func(count, most int) bool { return most == 0 || count < most }
	return below(p.total, b.Total) && below(p.byNode[from.Index], b.PerNode) && below(p.byNamespace[pod.Namespace], b.PerNamespace) &&
		below(p.byWorkload[workload(pod)], b.PerWorkload)
}

func workload(pod *cluster.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod.Pod); owner != nil {
		return owner.UID
	}
	return ""
}
