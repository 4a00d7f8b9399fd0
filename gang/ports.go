package gang

import (
	"iter"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
)

// view is the cluster as the core reads it, under the lock of a machine.
type view struct {
	cluster  *cluster.Cluster
	profiles *predicates.Profiles
	blocked  func(pod types.UID) bool
	stamps   *runtimes.Clock
}

// Generation implements [core.View], as all that follow.
func (v *view) Generation() uint64 { return v.cluster.Snapshot().Generation }

func (v *view) PodGroup(key membership.Key) *v1alpha1.Observed {
	return membership.Object(v.cluster.Snapshot(), key)
}

func (v *view) Node(name string) *cluster.Node { return v.cluster.Snapshot().NodeByName(name) }

func (v *view) NodeCount() int { return v.cluster.Snapshot().NodeCount() }

func (v *view) NodeNames() *cluster.NodeNames { return v.cluster.Snapshot().NodeNames }

func (v *view) Ages() runtimes.Ages { return v.stamps.Ages(v.cluster.Snapshot().Offered()) }

func (v *view) Pods() iter.Seq[*cluster.Pod] {
	return func(yield func(*cluster.Pod) bool) {
		for node := range v.cluster.Snapshot().Nodes() {
			for _, pod := range node.Pods {
				if !yield(pod) {
					return
				}
			}
		}
	}
}

func (v *view) Assumed(uid types.UID) string { return v.cluster.Assumed(uid) }

func (v *view) Binding(uid types.UID) string { return v.cluster.Binding(uid) }

func (v *view) Blocked(uid types.UID) bool { return v.blocked != nil && v.blocked(uid) }

func (v *view) Came() uint64 { return v.cluster.Came() }

func (v *view) Untried(schedulerName string, first uint64, since time.Time) bool {
	return v.cluster.Untried(schedulerName, first, since)
}

func (v *view) Waits(first uint64) bool { return v.cluster.Waits(first) }

func (v *view) Profile(schedulerName string) *predicates.VerdictStore {
	return v.profiles.Of(schedulerName)
}

// ports does what the core asks for: where members count, and searches on one snapshot. It is used under the lock of a
// machine. search.go has the searches.
type ports struct {
	clock        clock.PassiveClock
	cluster      *cluster.Cluster
	reservations Reservations
	budget       *budget
	took         prometheus.Observer
	seed         uint64 // of the next plan
}

// Now implements [core.Ports], as all that follow and the searches.
func (p *ports) Now() time.Time { return p.clock.Now() }

func (p *ports) Release(uid types.UID) { p.cluster.Release(uid) }

func (p *ports) Renew(uid types.UID) (counts bool) { return p.cluster.Renew(uid) }

// newPlan begins one for members. Room that plans of the rescheduler keep for them is theirs. A gang that these
// move as a whole returns to none of the nodes that any of its members left.
func (p *ports) newPlan(store *predicates.VerdictStore, pods []*cluster.Pod) *placement.Plan {
	reserved := p.reservations.Reserved(pods) // of what is given up for a member, the plan has to see that it is free
	plan := placement.New(store, pods, p.seed)
	plan.Avoid(p.reservations.Left(pods))
	if reserved.Len() > 0 {
		for node := range plan.Snapshot().Nodes() {
			for _, pod := range node.Pods {
				if reserved.Has(pod.UID) {
					plan.Take(pod, node.Index)
				}
			}
		}
	}
	return plan
}

// sparing narrows may: no member may have pods evicted that plans of the rescheduler count on.
func (p *ports) sparing(
	preemptors []*cluster.Pod, may func(*cluster.Pod) (placement.Eviction, bool),
) func(*cluster.Pod) (placement.Eviction, bool) {
	spared := p.reservations.Spared(preemptors...)
	return func(pod *cluster.Pod) (placement.Eviction, bool) {
		if spared.Has(pod.UID) {
			return placement.Eviction{}, false
		}
		return may(pod)
	}
}

// assume has pods count on their places, or none of them.
func (p *ports) assume(snap *cluster.Snapshot, places []placement.Place) ([]core.Planned, error) {
	on := map[int32][]*cluster.Pod{}
	var order []int32
	for _, place := range places {
		if place.Node < 0 {
			continue
		}
		if on[place.Node] == nil {
			order = append(order, place.Node)
		}
		on[place.Node] = append(on[place.Node], place.Pod)
	}
	for i, index := range order {
		if err := p.cluster.AssumeAll(on[index], snap.Node(index)); err != nil {
			for _, before := range order[:i] {
				for _, pod := range on[before] {
					p.cluster.Release(pod.UID)
				}
			}
			return nil, err
		}
	}
	p.reservations.Refresh()
	planned := make([]core.Planned, 0, len(places))
	for _, index := range order {
		for _, pod := range on[index] {
			planned = append(planned, core.Planned{UID: pod.UID, Node: snap.Node(index).Name})
		}
	}
	return planned, nil
}

// contested reports whether pods that wait might take so much room that too little is left for members that have just
// been placed.
func (p *ports) contested(plan *placement.Plan, members []*cluster.Pod) bool {
	own := sets.New[types.UID]()
	for _, pod := range members {
		own.Insert(pod.UID)
	}
	var rivals []*cluster.Pod
	for _, pod := range p.cluster.Pending() {
		if !own.Has(pod.UID) && p.mayRoam(pod) {
			rivals = append(rivals, pod)
		}
	}
	return plan.Contested(members, rivals)
}

// mayRoam reports whether the scheduler may put a pod anywhere, now or when its gate is lifted. One with a gate of
// muster's has to have a place before, and goes to no other one if it is nominated there.
func (p *ports) mayRoam(pod *cluster.Pod) bool {
	if _, member := membership.Of(pod); !member || !membership.Gated(pod.Pod) {
		return true
	}
	place := p.cluster.Assumed(pod.UID)
	return place != "" && place != pod.Status.NominatedNodeName
}

// lackingWithout reports whether there would be less of a resource than some groups are to have, though others were gone.
func (p *ports) lackingWithout(parts []core.Wanted, others []*cluster.Pod) bool {
	for _, part := range parts {
		if len(part.Resources) > 0 {
			part.Own = slices.Concat(part.Own, others)
			if p.lacking([]core.Wanted{part}) != "" {
				return true
			}
		}
	}
	return false
}

// lacking names the resource whose free amount on all nodes together is less than one of some groups is to
// have; "" when there is enough.
func (p *ports) lacking(parts []core.Wanted) string {
	for _, part := range parts {
		if len(part.Resources) == 0 || part.AtLeast == 0 {
			continue
		}
		if why := membership.Lacking(part.Resources, part.Own, p.cluster.Snapshot()); why != "" {
			return why
		}
	}
	return ""
}
