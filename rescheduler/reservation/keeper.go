// Package reservation keeps the room that plans of the rescheduler count on, and room that pods were promised which are
// yet to come.
//
// A [Keeper] keeps what it is told to ([Keeper.Hold]). It follows the ReschedulingPlans, and makes two things of the plans that
// are being carried out:
//
//   - Reservations. Each replacement that is to come, and each pending pod that gets a place, has a placeholder
//     on the node ([cluster.Cluster.Reserve]). So every reader of the view of the cluster sees that the room is
//     taken: calls of kube-scheduler, preemption, plans of gangs, nomination, and other plans. When the pod
//     itself comes, it gets the room of the placeholder. A replacement is known by its controller and its
//     equivalence class, in a StatefulSet by its name as well. The plan names the pods that were there before
//     the eviction. No clocks are compared.
//   - Bans. A replacement does not return to the node that its kind leaves.
//
// A replacement of another class takes the room if it fits there. If not, all that the plan keeps is given up, and the
// plan is told: it must not be worse off than without a plan.
//
// The extender says of each plan that it does so ([Keeper.Confirm]). Nothing is evicted before: else
// a replacement could come before the plan is known here.
//
// Both are made of the objects and of nothing else, so they are there again after a restart of
// this process or of the rescheduler's. They end with the plan, and when it expires.
//
// A pod gets its room only on a node that the scheduler asks about. If that node is not asked about, the pod is
// treated as any other, except for the bans.
package reservation

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/predicates"
)

// Options of a Keeper. All are required but Changed.
type Options struct {
	Logger  *slog.Logger
	Clock   clock.WithTicker
	Cluster *cluster.Cluster
	// Profiles are the profiles in force.
	Profiles *predicates.Profiles
	// Changed is told when a plan has come, changed or gone.
	Changed func()
}

// Keeper keeps the room that plans count on. It is safe for concurrent use.
type Keeper struct {
	log      *slog.Logger
	clock    clock.WithTicker
	cluster  *cluster.Cluster
	changed  func()
	profiles *predicates.Profiles
	news     chan struct{} // that a plan has come, changed or gone, for Confirm

	// inForce tells that a reservation or a ban exists, and booked has the booking: without both nobody needs to ask.
	inForce atomic.Bool
	booked  atomic.Pointer[booked] // nil for nothing

	mu           lock.Mutex
	plans        map[string]*v1alpha1.ReschedulingPlan // by name; never changed
	since        since
	reservations map[types.UID]*reservation // by the UID of the placeholder
	bans         sets.Set[types.UID]        // plans that keep pods off the nodes that they leave
	setbacks     map[types.UID]setback      // plans, and holders, whose room was given up, until they are gone
	held         map[types.UID]*holding     // by the holder
}

// tick is how often it is looked whether plans have expired, or pods have lost what they took.
const tick = time.Second

// New returns a Keeper that knows of no plan until the watch tells its Handler.
func New(o Options) *Keeper {
	k := &Keeper{
		mu:  lock.New(lock.Reservations),
		log: o.Logger, clock: o.Clock, cluster: o.Cluster, profiles: o.Profiles, changed: o.Changed,
		news: make(chan struct{}, 1), plans: map[string]*v1alpha1.ReschedulingPlan{}, reservations: map[types.UID]*reservation{},
		setbacks: map[types.UID]setback{},
		held:     map[types.UID]*holding{},
		since:    map[types.UID]time.Time{},
	}
	if k.changed == nil {
		k.changed = func() {}
	}
	return k
}

// Handler takes in the events of the watch on ReschedulingPlans.
func (k *Keeper) Handler() cluster.CustomHandler {
	return cluster.CustomHandler{
		Set: func(object metav1.Object) {
			plan, err := v1alpha1.Decode(object.(*unstructured.Unstructured))
			if err != nil {
				// The plan's former content is void as well: it must not be half honoured.
				k.log.Warn("cannot read a ReschedulingPlan", slog.Any("err", err))
				k.Delete(object.GetName())
				return
			}
			k.Set(plan)
		},
		Delete: func(object metav1.Object) { k.Delete(object.GetName()) },
		Drop: func() {
			for _, plan := range k.Plans() {
				k.Delete(plan.Name)
			}
		},
	}
}

// Run ends what has expired, until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	ticker := k.clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			k.Refresh()
		}
	}
}

// Set applies that a plan has come or changed. It must not be changed afterwards. It does nothing when
// a newer version is known: the watch shows late what this process has written.
func (k *Keeper) Set(plan *v1alpha1.ReschedulingPlan) {
	k.mu.Lock()
	if known := k.plans[plan.Name]; known == nil || known.UID != plan.UID || !isOlder(plan, known) {
		k.set(plan)
	}
	k.mu.Unlock()
	k.tell()
}

// Wrote is Set for what this process has written to a plan that is known, ahead of the watch. It does
// nothing when the watch was faster, and has shown that the plan is gone.
func (k *Keeper) Wrote(plan *v1alpha1.ReschedulingPlan) {
	k.mu.Lock()
	if known := k.plans[plan.Name]; known != nil && known.UID == plan.UID && !isOlder(plan, known) {
		k.set(plan)
	}
	k.mu.Unlock()
	k.tell()
}

func (k *Keeper) set(plan *v1alpha1.ReschedulingPlan) {
	k.plans[plan.Name] = plan
	k.refresh()
}

func isOlder(plan, than *v1alpha1.ReschedulingPlan) bool {
	order, err := resourceversion.CompareResourceVersion(plan.ResourceVersion, than.ResourceVersion)
	return err == nil && order < 0
}

// Delete applies that a plan has gone.
func (k *Keeper) Delete(name string) {
	k.mu.Lock()
	if plan := k.plans[name]; plan != nil {
		delete(k.setbacks, plan.UID)
	}
	delete(k.plans, name)
	k.refresh()
	k.mu.Unlock()
	k.tell()
}

func (k *Keeper) tell() {
	k.changed()
	select {
	case k.news <- struct{}{}:
	default: // it has yet to look
	}
}

// Plans are all there are, the oldest first. They must not be changed.
func (k *Keeper) Plans() []*v1alpha1.ReschedulingPlan {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sorted()
}

func (k *Keeper) sorted() []*v1alpha1.ReschedulingPlan {
	return slices.SortedFunc(maps.Values(k.plans), v1alpha1.ByAge)
}

// Refresh ends what has expired and what pods have taken, and keeps the room again that a pod has
// taken and lost.
func (k *Keeper) Refresh() {
	if !k.inForce.Load() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refresh()
}

// refresh makes the reservations be what the plans say. The caller holds the lock.
func (k *Keeper) refresh() {
	wanted, reserving := k.wanted(k.clock.Now())
	evictable := false // a pod that was spared so far
	for uid, r := range k.reservations {
		if next := wanted[uid]; next == nil || next.node != r.node {
			k.cluster.Unreserve(uid)
			delete(k.reservations, uid)
			evictable = evictable || r.taker != ""
		}
	}
	taken := sets.New[types.UID]()
	for uid, r := range wanted {
		if known := k.reservations[uid]; known != nil {
			k.goOn(r, known)
		}
		r.taker = k.presentTaker(r)
		taken.Insert(r.taker)
	}
	for _, uid := range slices.Sorted(maps.Keys(wanted)) {
		r := wanted[uid]
		if r.taker == "" {
			k.adopt(r, taken)
		}
		switch {
		case r.taker != "":
			k.cluster.Unreserve(uid)
		case k.cluster.PlaceOf(uid) != r.node:
			k.cluster.Reserve(r.pod, r.node)
		}
		k.reservations[uid] = r
	}
	k.inForce.Store(reserving.Len() > 0 || len(wanted) > 0)
	ended := k.bans.Difference(reserving)
	if k.bans = reserving; ended.Len() > 0 || evictable {
		k.cluster.NoteFreed()
	}
}

// wanted returns the reservations that plans and holders say, and the plans.
func (k *Keeper) wanted(now time.Time) (wanted map[types.UID]*reservation, reserving sets.Set[types.UID]) {
	wanted, reserving = map[types.UID]*reservation{}, sets.New[types.UID]()
	k.since.see(k.plans, now)
	for _, plan := range k.sorted() {
		if k.keeps(plan, now) {
			reserving.Insert(plan.UID)
			k.want(plan, wanted)
		}
	}
	for _, h := range k.held {
		if _, gaveUp := k.setbacks[h.holder]; !gaveUp {
			h.want(wanted)
		}
	}
	return wanted, reserving
}

// Pass returns once the lock was free, and does nothing else. A canary calls it.
func (k *Keeper) Pass() {
	k.mu.Lock()
	defer k.mu.Unlock()
}
