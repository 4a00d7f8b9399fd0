package placeholder

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
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

	mu       sync.Mutex
	shown    map[types.UID]time.Time // since when a placeholder pod is nominated
	released sets.Set[string]        // names that need none any more
	trouble  map[types.UID]string    // what was in the way last, by plan
}

// The pauses of Placeholders: between two looks, and between two changes of a pod that stays.
const (
	tick   = 200 * time.Millisecond
	remind = time.Minute
)

// New returns Placeholders that do nothing until they are run.
func New(o Options) *Placeholders {
	return &Placeholders{
		Options: o, touchAll: make(chan struct{}, 1),
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

// Knows implements [reservation.Scheduler].
func (p *Placeholders) Knows(plan *v1alpha1.ReschedulingPlan) (knows bool, why string) {
	present, now := p.Pods.Pods(), p.Clock.Now()
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
		if since, is := p.shown[pod.UID]; !is || now.Sub(since) < p.Margin {
			return false, p.trouble[plan.UID]
		}
	}
	return true, ""
}

// Blocks reports whether kube-scheduler would refuse a pod the room that it has taken, as its placeholder pod is there
// still.
func (p *Placeholders) Blocks(pod types.UID) bool {
	plan, room := p.Keeper.TakenBy(pod)
	if room == "" {
		return false
	}
	for _, plans := range p.Keeper.Plans() {
		if plans.UID == plan {
			return p.Pods.Pods()[plans.Name+"-"+room] != nil
		}
	}
	return false
}

// untold are the rooms of pods that kube-scheduler does not ask muster about, and that nobody has come to.
func (p *Placeholders) untold() (rooms []reservation.Room) {
	for _, r := range p.Keeper.Rooms() {
		store := p.Profiles.Of(r.For.Spec.SchedulerName)
		if store != nil && store.Profile.NodeSelection == config.NodeSelectionAhead && !p.isReleased(&r) {
			rooms = append(rooms, r)
		}
	}
	return rooms
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

// hasCome reports whether the pod that room is for has come, and kube-scheduler knows of it or is about to.
func (p *Placeholders) hasCome(r *reservation.Room) bool {
	if r.Taker == "" {
		return false
	}
	pod := p.Cluster.PendingPod(r.Taker)
	return pod == nil || pod.Status.NominatedNodeName != "" || len(pod.Spec.SchedulingGates) == 0 && r.Beneficiary == ""
}

// reconcile makes the placeholder pods be what they should.
func (p *Placeholders) reconcile(ctx context.Context) {
	rooms := p.untold()
	for i := range rooms {
		if p.hasCome(&rooms[i]) || p.hasBeenMade(ctx, &rooms[i]) {
			p.release(&rooms[i])
		}
	}
	wanted, trouble := map[string]reservation.Room{}, map[types.UID]string{}
	for _, r := range due(p.untold(), p.Cluster.Snapshot()) {
		wanted[name(&r)] = r
	}
	present := p.Pods.Pods()
	for name, pod := range present {
		if r, is := wanted[name]; !is || !isOf(pod, &r) {
			p.complain(p.Namespace+"/"+name, "delete", p.Client.Delete(ctx, pod))
		}
	}
	for name, r := range wanted {
		if err := p.tell(ctx, &r, present[name]); err != nil {
			trouble[r.Plan.UID] = fmt.Sprintf("the placeholder pod %s: %v", name, err)
		}
	}
	p.note(present, trouble)
}

// tell does the next thing by which kube-scheduler learns of room: pod is its placeholder pod, nil when there is none.
func (p *Placeholders) tell(ctx context.Context, r *reservation.Room, pod *corev1.Pod) (err error) {
	switch {
	case pod == nil:
		if err = p.Client.Create(ctx, newPlaceholderPod(p.Namespace, r)); apierrors.IsAlreadyExists(err) {
			return nil // the watch is about to show it
		}
		p.complain(p.Namespace+"/"+name(r), "create", err)
	case isOf(pod, r) && pod.Status.NominatedNodeName == "":
		if err = p.Client.Nominate(ctx, pod, r.Node); nomination.Outdated(err) {
			return nil
		}
		p.complain(p.Namespace+"/"+name(r), "nominate", err)
	}
	return err
}

// hasBeenMade nominates a pod that waits for its room, once all has gone that was in its way.
func (p *Placeholders) hasBeenMade(ctx context.Context, r *reservation.Room) bool {
	if r.Beneficiary == "" || !allMoved(r.Plan) {
		return false
	}
	pod := p.Cluster.PendingPod(r.Beneficiary)
	if pod == nil || len(pod.Spec.SchedulingGates) > 0 {
		return pod == nil
	}
	err := p.Client.Nominate(ctx, pod.Pod, r.Node)
	p.complain(pod.Namespace+"/"+pod.Name, "nominate", err)
	return !nomination.Outdated(err) // without the nomination, its node has room all the same
}

func allMoved(plan *v1alpha1.ReschedulingPlan) bool {
	for i := range plan.Spec.Steps {
		if plan.Step(i).Phase != v1alpha1.StepMoved {
			return false
		}
	}
	return true
}

// note remembers what is there, and forgets what has gone.
func (p *Placeholders) note(present map[string]*corev1.Pod, trouble map[types.UID]string) {
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
	}
}

// touch changes all placeholder pods.
func (p *Placeholders) touch(ctx context.Context) {
	for name, pod := range p.Pods.Pods() {
		if pod.Status.NominatedNodeName != "" {
			p.complain(p.Namespace+"/"+name, "change", p.Client.Wake(ctx, pod))
		}
	}
}

func (p *Placeholders) complain(pod, what string, err error) {
	if err != nil && !nomination.Outdated(err) {
		p.Logger.Warn("cannot tell kube-scheduler of room", "pod", pod, "err", fmt.Errorf("%s: %w", what, err))
	}
}
