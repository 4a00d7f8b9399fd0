package placeable

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

const (
	// planTime bounds a search for the places of one workload, and lookTime all of them in one look: calls of kube-scheduler about pods
	// that are alike wait for a search.
	planTime, lookTime = 500 * time.Millisecond, time.Second
	// mostTries is how often places are looked for again at once, as nodes change meanwhile.
	mostTries = 3
)

// Keeper keeps room, as a [reservation.Keeper] does.
type Keeper interface {
	Hold(p *reservation.Promise) error
	Came(holder types.UID, bound []*cluster.Pod) (reservation.Standing, bool)
	Let(holder types.UID)
}

// rooms is the room of a cluster during one look at it.
type rooms struct {
	clock    clock.PassiveClock
	cluster  *cluster.Cluster
	profiles *predicates.Profiles
	keeper   Keeper
	seed     uint64
	made     int // placeholders, so that no two have one name

	began   time.Time
	flavors map[string]*flavor
	bound   map[types.UID][]*cluster.Pod // pods that are bound, by workload
}

// begin begins a look.
func (r *rooms) begin(all []*workload, flavors map[string]*flavor) {
	r.began, r.flavors, r.bound = r.clock.Now(), flavors, boundOf(all, r.cluster.Snapshot())
}

// boundOf returns the pods of workloads that are bound, by workload.
func boundOf(all []*workload, snap *cluster.Snapshot) map[types.UID][]*cluster.Pod {
	bound := map[types.UID][]*cluster.Pod{}
	if len(all) == 0 {
		return bound
	}
	named, owning := map[types.NamespacedName]*workload{}, map[types.UID]*workload{}
	for _, w := range all {
		named[w.NamespacedName] = w
		for owner := range w.owners {
			owning[owner] = w
		}
	}
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			if pod.Placeholder || pod.Spec.NodeName == "" {
				continue
			}
			w := named[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Annotations[annotationWorkload]}]
			if w == nil {
				w = owning[pod.UID]
			}
			for i := 0; w == nil && i < len(pod.OwnerReferences); i++ {
				w = owning[pod.OwnerReferences[i].UID]
			}
			if w == nil {
				continue
			}
			if _, is := w.setOf(pod); is {
				bound[w.uid] = append(bound[w.uid], pod)
			}
		}
	}
	return bound
}

func (r *rooms) generation() uint64 { return r.cluster.Snapshot().Generation }

func (r *rooms) spent() bool { return r.clock.Since(r.began) > lookTime }

func (r *rooms) let(uid types.UID) { r.keeper.Let(uid) }

func (r *rooms) stands(w *workload) standing {
	if s, known := r.keeper.Came(w.uid, r.bound[w.uid]); known {
		return standing{kept: s.Kept, came: s.Came, gaveUp: s.GaveUp}
	}
	came := map[string]int{}
	for _, pod := range r.bound[w.uid] {
		set, _ := w.setOf(pod)
		came[set]++
	}
	return standing{kept: map[string]int{}, came: came}
}

func (r *rooms) keep(w *workload, more map[string]int, whole bool) (f found) {
	for range mostTries {
		var spots []reservation.Spot
		if spots, f = r.find(w, more, whole); whole && !f.whole {
			return f
		}
		err := r.keeper.Hold(&reservation.Promise{
			Holder: w.uid, Name: "workload " + w.String(), Of: w.setOf, Spots: spots, Came: r.bound[w.uid],
		})
		if err == nil {
			return f
		}
		if !errors.Is(err, cluster.ErrNodeChanged) {
			return found{message: err.Error()}
		}
	}
	return found{message: "there were places, and nodes have changed meanwhile"}
}

// find finds places for pods of a workload, of each set by the profile of its scheduler: for all of them or none with whole, else for
// any that have one.
func (r *rooms) find(w *workload, more map[string]int, whole bool) (spots []reservation.Spot, f found) {
	demands, sets := map[*predicates.VerdictStore][]demand{}, map[*cluster.Pod]string{}
	var order []*predicates.VerdictStore
	for i := range w.sets {
		set := &w.sets[i]
		if more[set.name] == 0 {
			continue
		}
		pods, err := w.made(set, r.flavors, more[set.name], r.made)
		if err != nil {
			return nil, found{message: err.Error()}
		}
		r.made += len(pods)
		scheduler := pods[0].Spec.SchedulerName
		store := r.profiles.Of(scheduler)
		if store == nil {
			return nil, found{message: fmt.Sprintf("pods %s name the scheduler %q, and muster has no profile for it", set.name, scheduler)}
		}
		if demands[store] == nil {
			order = append(order, store)
		}
		demands[store] = append(demands[store], demand{set.name, pods})
		for _, pod := range pods {
			sets[pod] = set.name
		}
	}
	var all []placed
	for _, store := range order {
		r.seed++
		some, against := place(store, demands[store], all, whole, r.seed, r.clock.Now().Add(planTime))
		all = append(all, some...)
		if against != "" {
			return spotsOf(all, sets), found{message: against}
		}
	}
	return spotsOf(all, sets), found{whole: true}
}

func spotsOf(all []placed, sets map[*cluster.Pod]string) (spots []reservation.Spot) {
	for _, p := range all {
		spots = append(spots, reservation.Spot{Set: sets[p.pod], Pod: p.pod, Node: p.on})
	}
	return spots
}

// placed is a pod with its place.
type placed struct {
	pod *cluster.Pod
	on  *cluster.Node // as it was when the place was found
}

// demand is the pods of one set that need places.
type demand struct {
	set  string
	pods []*cluster.Pod
}

// place finds places for pods of one profile beside others: for all of them or none with whole, else for any that have one. It says
// what is against the first that has none.
func place(
	store *predicates.VerdictStore, demands []demand, beside []placed, whole bool, seed uint64, deadline time.Time,
) (all []placed, against string) {
	var pods []*cluster.Pod
	together := make([]placement.Demand, len(demands))
	for i, d := range demands {
		pods = append(pods, d.pods...)
		together[i] = placement.Demand{Pods: d.pods}
		if whole {
			together[i].AtLeast = len(d.pods)
		}
	}
	plan := placement.New(store, pods, seed)
	defer plan.Close()
	for _, p := range beside {
		if node := plan.Snapshot().NodeByName(p.on.Name); node != nil {
			plan.Put(p.pod, node.Index)
		}
	}
	result := plan.PlaceTogether(together, deadline)
	for i := range result.Enough {
		outcomes := []placement.Outcome{result.Enough[i]}
		if i < len(result.More) {
			outcomes = append(outcomes, result.More[i])
		}
		count := 0
		var first *placement.Place
		for _, o := range outcomes {
			for at := range o.Places {
				switch at := &o.Places[at]; {
				case at.Node >= 0:
					count++
					all = append(all, placed{at.Pod, plan.Snapshot().Node(at.Node)})
				case first == nil:
					first = at
				}
			}
		}
		if against == "" && count < len(demands[i].pods) {
			against = lacking(&demands[i], count, first, result.Late, result.Cut)
		}
	}
	return all, against
}

// lacking says how many pods of a set have places, and what is against another one.
func lacking(d *demand, count int, first *placement.Place, late, cut bool) string {
	text := fmt.Sprintf("places for %d of %d pods %s", count, len(d.pods), d.set)
	var reasons []string
	if first != nil {
		for _, objection := range first.Against {
			reasons = append(reasons, fmt.Sprintf("%d %s", objection.Nodes, objection.Reason))
		}
	}
	if len(reasons) > 0 {
		text += ": " + strings.Join(reasons, ", ")
	}
	if late || cut {
		text += "; there was no time to try all ways"
	}
	return text
}
