// Package placeholder tells kube-scheduler of the room that plans of the rescheduler keep, where it does not ask
// muster: for pods of profiles with gates: UntilPlace.
//
// A placeholder pod stands for a pod that is to come. A gate of its own ([v1alpha1.PlaceholderGate]) keeps it from ever
// being scheduled, and it is nominated to the node where the room is: so kube-scheduler keeps that room from pods of
// the same and of lower priority. It asks for what the pod to come asks for, with its priority, and for its host ports;
// it is in muster's own namespace, where neither the quota of a tenant nor the selector of a controller meets it, and is
// owned by its plan.
//
//	reservation in the view → placeholder pod → nominated → shown by the watch → the plan may begin
//	the pod comes, gated → it takes the reservation → it is nominated → the placeholder pod goes → its gate is lifted
//
// muster itself never counts placeholder pods: it knows the room by the reservations that they tell of.
//
// What holds:
//
//   - No plan is confirmed before the watch has shown its placeholder pods for as long as the scheduler may act on what it
//     saw before ([Options.Margin]).
//   - A placeholder pod is not nominated while it would keep out the pod of an earlier step on the same node.
//   - It keeps out its own pod only as the next line says: it goes when a gated one is nominated or let go, and the room of
//     a replacement that is not gated is given up when its step begins. It comes back for that plan no more.
//   - A plan may make room for a pod that kube-scheduler tries all along. muster nominates the pod first, and again whenever
//     a failed attempt takes the nomination away. The placeholder pod goes once the nomination has outlived the attempts
//     that began before it ([Options.Margin]): else others would get the room between the two.
//   - It keeps out no pod that a DaemonSet has for the node: the plan is given up.
//   - It goes when its plan has ended. The garbage collector of the cluster deletes placeholder pods of a
//     deleted plan.
//   - A scheduler that begins to lead knows of no gated pod that has not changed since: each placeholder pod is changed
//     then, and every minute.
package placeholder

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

// Client writes pods.
type Client interface {
	nomination.Client
	// Wake changes a pod, so that kube-scheduler takes note of it.
	Wake(ctx context.Context, pod *corev1.Pod) error
	Create(ctx context.Context, pod *corev1.Pod) error
	// Delete deletes a pod of that UID at once.
	Delete(ctx context.Context, pod *corev1.Pod) error
}

// Pods are the placeholder pods that the watch shows, by name. They must not be changed.
type Pods interface {
	Pods() map[string]*corev1.Pod
}

// Options of Placeholders. All are required.
type Options struct {
	Logger   *slog.Logger
	Clock    clock.WithTicker
	Cluster  *cluster.Cluster
	Profiles *predicates.Profiles
	Keeper   *reservation.Keeper
	Client   Client
	Pods     Pods
	// Namespace is where the pods are created.
	Namespace string
	// Margin is how long kube-scheduler may act on what it saw before it saw a nomination.
	Margin time.Duration
}

// Placeholders keeps a placeholder pod for all room that is to be told of. It is safe for concurrent use.
type Placeholders struct {
	Options

	touchAll chan struct{} // has one element when kube-scheduler may know of none
	changed  chan struct{} // has one element when plans have changed
	failures failures      // only Run uses it

	mu       sync.Mutex
	shown    map[types.UID]time.Time // since when a placeholder pod, or a pod that room is made for, is nominated
	released sets.Set[string]        // rooms that need none any more, by their key
	trouble  map[types.UID]string    // what was in the way last, by plan
}

// The pauses of Placeholders: between two looks, and between two changes of a pod that stays.
const (
	tick   = 100 * time.Millisecond
	remind = time.Minute
)

// New returns Placeholders that do nothing until they are run.
func New(o Options) *Placeholders {
	return &Placeholders{
		Options: o, touchAll: make(chan struct{}, 1), changed: make(chan struct{}, 1), failures: newFailures(o.Clock),
		shown: map[types.UID]time.Time{}, released: sets.New[string](), trouble: map[types.UID]string{},
	}
}

// Run tells of room until the context ends. No other process may do so.
func (p *Placeholders) Run(ctx context.Context) {
	ticker := p.Clock.NewTicker(tick)
	defer ticker.Stop()
	reminded := p.Clock.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if p.Clock.Since(reminded) >= remind {
				p.SchedulerChanged()
			}
		case <-p.changed:
		case <-p.touchAll:
			reminded = p.Clock.Now()
			p.touch(ctx)
		}
		p.reconcile(ctx)
	}
}

// SchedulerChanged has each placeholder pod changed, as another kube-scheduler leads.
func (p *Placeholders) SchedulerChanged() {
	select {
	case p.touchAll <- struct{}{}:
	default:
	}
}

// PlansChanged has the scheduler told of the changes at once.
func (p *Placeholders) PlansChanged() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// Knows implements [reservation.Scheduler].
func (p *Placeholders) Knows(plan *v1alpha1.ReschedulingPlan) (knows bool, why string) {
	present := p.Pods.Pods()
	rooms := due(p.untold(), p.Cluster.Snapshot())
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range rooms {
		if rooms[i].Plan.UID != plan.UID {
			continue
		}
		pod := present[name(&rooms[i])]
		if pod == nil || !isOf(pod, &rooms[i]) {
			return false, p.trouble[plan.UID]
		}
		if !p.hasBeenShown(pod.UID) {
			return false, p.trouble[plan.UID]
		}
		if why := keepsLess(pod, &rooms[i]); why != "" {
			return false, why
		}
	}
	return true, ""
}

// Blocks reports whether kube-scheduler would refuse a pod the room that it has taken, as its placeholder pod is there
// still.
func (p *Placeholders) Blocks(pod types.UID) bool {
	plan, room := p.Keeper.TakenBy(pod)
	return plan != nil && p.Pods.Pods()[nameOf(plan, room)] != nil
}

// unasked returns the rooms of pods that kube-scheduler does not ask muster about.
func (p *Placeholders) unasked() (rooms []reservation.Room) {
	for _, r := range p.Keeper.Rooms() {
		store := p.Profiles.Of(r.For.Spec.SchedulerName)
		if store != nil && store.Profile.PlacesGated() && !p.meetsItself(&r) {
			rooms = append(rooms, r)
		}
	}
	return rooms
}

// untold returns the rooms that placeholder pods are to tell of: unasked ones that nobody has come to.
func (p *Placeholders) untold() []reservation.Room { return p.unreleased(p.unasked()) }

// unreleased drops the rooms that need no placeholder pod any more.
func (p *Placeholders) unreleased(rooms []reservation.Room) []reservation.Room {
	return slices.DeleteFunc(rooms, func(r reservation.Room) bool { return p.isReleased(&r) })
}

// meetsItself reports whether the pod that room is for is not gated when it comes, so that kube-scheduler would keep it out
// of its own room. It is about to come, and may go where others may.
func (p *Placeholders) meetsItself(r *reservation.Room) bool {
	return r.Open && r.Beneficiary == "" && !isGatedWhenCreated(r.For.Pod, p.Cluster.Snapshot())
}

// isGatedWhenCreated reports whether muster's policies gate pods like one: members of gangs, and pods that are
// opted in.
func isGatedWhenCreated(pod *corev1.Pod, snap *cluster.Snapshot) bool {
	if _, member := membership.Marked(pod); member {
		return true
	}
	if says, own := pod.Labels[schedulingv1alpha1.LabelAhead]; own {
		return says == "true"
	}
	namespace, known := snap.Namespaces.Get(pod.Namespace)
	return known && namespace.Labels[schedulingv1alpha1.LabelAhead] == "true"
}

func (p *Placeholders) isReleased(r *reservation.Room) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.released.Has(key(r))
}

func (p *Placeholders) release(r *reservation.Room) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released.Insert(key(r))
}

func key(r *reservation.Room) string { return string(r.Plan.UID) + "/" + r.Name }

// reconcile makes the placeholder pods be what they should.
func (p *Placeholders) reconcile(ctx context.Context) {
	p.letPass()
	rooms := p.unasked()
	for i := range rooms {
		if p.hasCome(&rooms[i]) || p.givesWay(ctx, &rooms[i]) {
			p.release(&rooms[i])
		}
	}
	waiting := p.beneficiaries(rooms)
	rooms = p.unreleased(rooms)
	snap, present := p.Cluster.Snapshot(), p.Pods.Pods()
	wanted, now, trouble := map[string]*reservation.Room{}, sets.New[string](), map[types.UID]string{}
	for i := range rooms {
		wanted[name(&rooms[i])] = &rooms[i]
	}
	for _, r := range due(rooms, snap) {
		now.Insert(name(&r))
	}
	for name, pod := range present {
		if r := wanted[name]; r == nil || !isOf(pod, r) {
			_ = p.try(name, "delete", func() error { return p.Client.Delete(ctx, pod) }) // logged
		}
	}
	for name, r := range wanted {
		if err := p.tell(ctx, r, present[name], now.Has(name)); err != nil {
			trouble[r.Plan.UID] = fmt.Sprintf("the placeholder pod %s: %v", name, err)
		}
	}
	p.note(append(waiting, slices.Collect(maps.Values(present))...), trouble)
}

// letPass gives up the room that pods of DaemonSets wait for: kube-scheduler would keep them out, whatever it
// is for. Pods that are critical to the system are of higher priority than any placeholder pod.
func (p *Placeholders) letPass() {
	if len(p.untold()) == 0 {
		return
	}
	for _, pod := range p.Cluster.Pending() {
		if store := p.Profiles.Of(pod.Spec.SchedulerName); store != nil && reservation.IsPinnedToNode(pod) {
			p.Keeper.GiveWay(pod, store.Profile, func(*cluster.Node) bool { return true })
		}
	}
}

// tell does the next thing by which kube-scheduler learns of room: pod is its placeholder pod, nil when there is none. It
// is nominated once the room is due.
func (p *Placeholders) tell(ctx context.Context, r *reservation.Room, pod *corev1.Pod, due bool) error {
	switch {
	case pod == nil:
		return p.try(name(r), "create", func() error { return p.Client.Create(ctx, newPlaceholderPod(p.Namespace, r)) })
	case due && isOf(pod, r) && pod.Status.NominatedNodeName == "":
		return p.try(name(r), "nominate", func() error { return p.Client.Nominate(ctx, pod, r.Node) })
	}
	return nil
}

// note remembers since when pods are nominated, and what was in the way, and forgets what has gone.
func (p *Placeholders) note(present []*corev1.Pod, trouble map[types.UID]string) {
	over := len(p.Keeper.Rooms()) == 0
	p.mu.Lock()
	defer p.mu.Unlock()
	shown := map[types.UID]time.Time{}
	for _, pod := range present {
		if pod.Status.NominatedNodeName == "" {
			continue
		}
		if since, is := p.shown[pod.UID]; is {
			shown[pod.UID] = since
		} else {
			shown[pod.UID] = p.Clock.Now()
		}
	}
	p.shown, p.trouble = shown, trouble
	if over {
		p.released = sets.New[string]()
		p.failures.forget()
	}
}

// touch changes all placeholder pods.
func (p *Placeholders) touch(ctx context.Context) {
	for name, pod := range p.Pods.Pods() {
		if pod.Status.NominatedNodeName != "" {
			_ = p.try(name, "change", func() error { return p.Client.Wake(ctx, pod) }) // logged, and done again in a minute
		}
	}
}

// try makes a write about a pod of the namespace, unless one has failed a short while ago: then it returns what that said.
func (p *Placeholders) try(pod, what string, write func() error) error {
	if p.failures.rests(pod, p.Clock.Now()) {
		return p.failures.said(pod)
	}
	err := write()
	if err != nil {
		err = fmt.Errorf("%s: %w", what, err)
		if !nomination.Outdated(err) && !apierrors.IsAlreadyExists(err) {
			p.Logger.Warn("cannot tell kube-scheduler of room", "pod", p.Namespace+"/"+pod, "err", err)
		}
	}
	p.failures.note(pod, err, p.Clock.Now())
	return p.failures.said(pod)
}
