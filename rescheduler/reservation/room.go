package reservation

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Room is room that a plan keeps on a node for one pod, as told to the scheduler.
type Room struct {
	Plan *v1alpha1.ReschedulingPlan
	// Name tells the room from the other rooms of the plan.
	Name string
	Node string
	// For is the pod that is to come, without a node. It must not be changed.
	For *cluster.Pod
	// Open says that the pod may come: what it replaces is being evicted.
	Open bool
	// Beneficiary is the pod that it is for, "" of a replacement.
	Beneficiary types.UID
	// Taker is the pod that counts there or is nominated there, "" for none.
	Taker types.UID
}

// Rooms returns all that plans keep, in the order of the plans and of their steps. Beneficiaries come last.
func (k *Keeper) Rooms() []Room {
	if !k.inForce.Load() {
		return nil
	}
	nominated := k.cluster.Nominated()
	k.mu.Lock()
	defer k.mu.Unlock()
	var rooms []Room
	for _, plan := range k.sorted() {
		var of []*reservation
		for _, r := range k.reservations {
			if r.plan == plan.UID {
				of = append(of, r)
			}
		}
		slices.SortFunc(of, byTurn)
		rooms = append(rooms, k.rooms(plan, of, nominated)...)
	}
	return rooms
}

func (k *Keeper) rooms(plan *v1alpha1.ReschedulingPlan, of []*reservation, nominated []*cluster.Pod) (rooms []Room) {
	come := sets.New[types.UID]()
	for _, r := range of {
		room := Room{
			Plan: plan, Name: r.name(), Node: r.node, For: r.pod, Open: r.open, Beneficiary: r.beneficiary, Taker: k.presentTaker(r),
		}
		for _, pod := range nominated {
			if !r.open || room.Taker != "" || pod.Status.NominatedNodeName != r.node || come.Has(pod.UID) {
				continue
			}
			if store := k.profiles.Of(pod.Spec.SchedulerName); store != nil && (r.isFor(pod, store.Profile) || r.isReplacedBy(pod)) {
				room.Taker = pod.UID
				come.Insert(pod.UID)
			}
		}
		rooms = append(rooms, room)
	}
	return rooms
}

// byTurn compares reservations of a plan by when they are taken.
func byTurn(a, b *reservation) int {
	after := func(r *reservation) int {
		if r.beneficiary != "" {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(after(a), after(b)), cmp.Compare(a.turn, b.turn))
}

// TakenBy returns the plan of the room that a pod has taken, and the name of the room; nil when it has taken none.
func (k *Keeper) TakenBy(pod types.UID) (plan *v1alpha1.ReschedulingPlan, name string) {
	if !k.inForce.Load() {
		return nil, ""
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.reservations {
		if r.taker != pod {
			continue
		}
		for _, plan := range k.plans {
			if plan.UID == r.plan {
				return plan, r.name()
			}
		}
	}
	return nil, ""
}

// name returns the name of the placeholder within its plan.
func (r *reservation) name() string {
	name := string(r.pod.UID)
	return name[strings.LastIndexByte(name, '/')+1:]
}

// About is a reservation, for people.
type About struct {
	Plan string `json:"plan"`
	Node string `json:"node"`
	For  string `json:"for"`
	// Open says that its pod may come.
	Open bool `json:"open"`
	// Taker is the UID of the pod that has it.
	Taker string `json:"takenBy"`
}

// Report returns all reservations, by plan and node.
func (k *Keeper) Report() []About {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := map[types.UID]string{}
	for _, plan := range k.plans {
		names[plan.UID] = plan.Name
	}
	var all []About
	for _, r := range k.reservations {
		about := About{Plan: names[r.plan], Node: r.node, For: "pod " + string(r.beneficiary), Taker: cmp.Or(string(r.taker), "-"), Open: r.open}
		switch {
		case r.of != nil:
			about.Plan, about.For = "-", "pod of "+r.of.name
		case r.beneficiary == "":
			about.For = "pod of controller " + string(r.controller)
		}
		all = append(all, about)
	}
	slices.SortFunc(all, func(a, b About) int {
		return cmp.Or(cmp.Compare(a.Plan, b.Plan), cmp.Compare(a.Node, b.Node), cmp.Compare(a.For, b.For))
	})
	return all
}
