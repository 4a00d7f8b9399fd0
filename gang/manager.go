// Package gang starts groups of pods whole or not at all, with a stock kube-scheduler.
//
// A group is a PodGroup, or pods that say themselves how many of them must start together (see
// [membership.Of]). The work of a scheduler's PreFilter, PostFilter and Permit for a gang is done in the calls
// that an extender gets:
//
//   - Filter plans places for the whole group when the first member is asked about, or earlier. A plan that
//     finds a place for too few of them holds nothing, and the group is denied for a while. Otherwise every
//     member counts on its place from then on, and each is steered there.
//   - Bind holds a member until enough members to start together have come or are bound. Then that is recorded
//     on the PodGroup, and all of them go. Before that nothing is bound.
//
// Package core decides about a gang: a state machine that knows no clock and no client. Its shell is the machine, which
// feeds it one event at a time under one lock, and carries out the effects. A [Manager] runs the machine and the parts that
// share it: each answers somebody else. What the core reads of the cluster is a [core.View], and what it asks for, such as
// places, are its [core.Ports].
//
// What holds at any time:
//
//   - A member that is placed or held counts on its node (see [cluster.Cluster.AssumeAll]): other pods and other
//     groups see the room as taken.
//   - Members are let go only together, and only if they and the bound members are enough to start together.
//   - That is recorded before (see [record.Record]), if there is a PodGroup, by a leader that no later one has
//     overtaken. The recorded minMember then stands until that number is bound. The record is written without
//     the lock, while the members are held; the members to go are chosen when it is written. It is not begun
//     when the time is up.
//   - A member that comes later goes without a record of its own only if minMember others are bound, or
//     recorded and not bound yet. Others on their way are no quorum to it.
//   - A pod that has succeeded counts as bound, one that has failed as gone.
//   - A held call ends before kube-scheduler gives it up: with quorum, or with an error. The member keeps its
//     place for the time of its group, and counts as one that has come; its next call is held again, or goes on
//     at once after the start.
//   - A group whose time is up again and again, though the scheduler was told of its places, holds them for a
//     small share of the time.
//   - A group that was denied, or waits for members, costs the scheduler nothing except the tries that it makes
//     by itself: the reasons never change, and members are woken when there is a place for all.
//
// Members may be created with a scheduling gate, so that the scheduler does not know of them yet. A pod that
// has this gate alone is a member as any other, and is planned. The gates of a group are lifted together, and
// no gate outlives its reason.
//
// Groups that compete are ordered by priority, then by the time of their last failure or
// their creation, then by name.
package gang

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/finished"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
)

// Options of a Manager. All are required, but a seed may be 0.
type Options struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Clock      clock.WithTicker
	Cluster    *cluster.Cluster
	Profiles   *predicates.Profiles
	Limits     Limits
	// Client and Writer tell the scheduler about places. The Writer is run by somebody else.
	Client Client
	Writer *nomination.Writer
	// Recorder records commits, with the Epoch of this process.
	Recorder Recorder
	Epoch    func() record.Epoch
	// Reservations is the room that is kept for members by plans of the rescheduler.
	Reservations Reservations
	// Blocked reports whether kube-scheduler would refuse a pod the room that it has taken, as it does not know of that yet; nil if
	// never.
	Blocked func(pod types.UID) bool
	// Seed breaks ties between nodes.
	Seed uint64
}

// Client writes to pods.
type Client interface {
	nomination.Client
	nomination.Gates
	// Wake has the scheduler try a pod again that it has put aside until an event.
	Wake(ctx context.Context, pod *corev1.Pod) error
	// Evict deletes a pod to make room for somebody, unless another one has its name by now.
	Evict(ctx context.Context, pod *corev1.Pod, preemptor string) error
}

// Reservations is room that is kept for pods to come.
type Reservations interface {
	// Reserved are the placeholders of pods until they come. It is in the way of others only. Room that does not do for
	// one of them is given up.
	Reserved(pods []*cluster.Pod) sets.Set[types.UID]
	// Refresh has what pods have taken not be kept any more.
	Refresh()
	// Spared are the pods that no eviction for the others may take.
	Spared(preemptors ...*cluster.Pod) sets.Set[types.UID]
	// Left are the nodes that some of the pods, or their kind, are moved off, or that are booked for others, and LeftByPlans the first
	// of these alone.
	Left(pods []*cluster.Pod) sets.Set[string]
	LeftByPlans(pods []*cluster.Pod) sets.Set[string]
}

// Manager holds the gangs of a cluster together. It and its parts are safe for concurrent use.
type Manager struct {
	// Verbs answers the verbs of an extender.
	Verbs *Verbs
	// Observer says how far gangs are.
	Observer *Observer
	// Publisher tells people about gangs.
	Publisher *Publisher

	machine *machine
	limits  Limits
	ahead   ahead
	follow  func() (unfollow func()) // once, however often it is called
}

// New returns a Manager that knows no member until it follows the cluster.
func New(o Options) *Manager {
	metrics := newMetrics(o.Registerer)
	news := &news{profiles: o.Profiles, told: make(chan told, mostUntold)}
	view := &view{cluster: o.Cluster, profiles: o.Profiles, blocked: o.Blocked, stamps: runtimes.NewClock(o.Clock)}
	machine := &machine{
		log:   o.Logger,
		clock: o.Clock,
		view:  view,
		ports: &ports{
			clock: o.Clock, cluster: o.Cluster, reservations: o.Reservations,
			budget: newBudget(o.Clock, o.Limits), took: metrics.planning, seed: o.Seed,
		},
		metrics: metrics,
		inbox:   &inbox{mu: lock.New(lock.Inbox), filled: make(chan struct{}, 1), members: sets.New[types.UID]()},
		writes:  &writes{client: o.Client, writer: o.Writer, log: o.Logger, results: metrics.evictions, news: news},
		records: &records{
			recorder: o.Recorder, epoch: o.Epoch, clock: o.Clock, took: metrics.recording, start: func(write func()) { go write() },
		},
		mu:    lock.New(lock.Gangs),
		state: core.New(o.Limits.Limits),
		holds: holds{waiting: map[core.HoldID]*hold{}, took: metrics.holds},
	}
	marks := newMarks(news)
	o.Registerer.MustRegister(newCensus(machine), newMistakes(machine, marks))
	return &Manager{
		Verbs:    &Verbs{machine: machine, refusals: metrics.refusals, completion: completion{machine: machine}},
		Observer: &Observer{machine: machine, patience: o.Limits.PlanTime},
		Publisher: &Publisher{
			machine: machine, log: o.Logger, clock: o.Clock, cluster: o.Cluster, news: news, marks: marks, tables: map[string]cluster.CustomTable{},
		},
		machine: machine,
		limits:  o.Limits,
		ahead:   ahead{machine: machine},
		follow: sync.OnceValue(func() func() {
			return o.Cluster.FollowPods(func(state cluster.PodState) {
				if state.Pod != nil {
					view.stamps.See(state.Pod.CreationTimestamp.Time)
				}
				machine.inbox.put(state)
				marks.put(state)
			})
		}),
	}
}

// Follow has the Manager told of members from now on. Calls of verbs may be answered only afterwards: a
// member that it was not told of is refused.
func (m *Manager) Follow() { m.follow() }

// Run plans groups ahead of the scheduler and ends what has taken too long, until the context ends. Then all
// held calls end with an error, except the calls of a start that is being recorded. Before, the view of the
// cluster must be complete, and Run must have been told the finished pods. No other process may be running one.
func (m *Manager) Run(ctx context.Context) {
	unfollow := m.follow()
	defer unfollow()
	defer m.machine.do(core.Stopped{})
	tick := m.machine.clock.NewTicker(m.limits.Tick)
	defer tick.Stop()
	retry := m.machine.clock.NewTicker(m.limits.Retry)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.machine.inbox.filled:
			m.gather(ctx)
		case <-retry.C():
			m.ahead.letGo()
			if !m.ahead.due() {
				continue
			}
		case <-tick.C():
			m.expire()
		}
		m.ahead.plan()
		m.ahead.letGo()
		m.ahead.liftGates()
	}
}

// gather lets more members come, so that a group is complete when it is looked at.
func (m *Manager) gather(ctx context.Context) {
	timer := m.machine.clock.NewTimer(m.limits.Gather)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// expire ends what has taken too long, and keeps the others counted on their places.
func (m *Manager) expire() { m.machine.doLatest(core.Ticked{}) }

// Finished says that a pod has finished, or is gone after that. The view of the cluster may
// show it running for a moment longer, or not show it any more already: it counts once all
// the same.
func (m *Manager) Finished(pod finished.Pod) {
	m.machine.do(core.Finished{Pod: pod})
	if !pod.Gone {
		m.machine.inbox.ring()
	}
}

// SchedulerChanged says that another process of kube-scheduler leads, or that it was restarted.
func (m *Manager) SchedulerChanged() { m.machine.do(core.SchedulerChanged{}) }

// ahead plans groups before the scheduler asks about them, lets those go whose room is kept, and has gates lifted. One
// goroutine runs it, which lets other calls come between two groups.
type ahead struct {
	machine *machine
	passed  uint64    // the generation of the cluster when all groups were looked at last
	again   time.Time // when they may be looked at again

	// These are overwritten under the lock, so that applying them allocates nothing.
	planned core.PlannedAhead
	gates   core.GatesDue
}

// due reports whether the cluster has changed since groups were last planned.
func (a *ahead) due() bool { return a.machine.view.Generation() != a.passed }

// plan plans complete groups before the scheduler asks about them, and denied groups once there is a place
// for them. Plans that fail never take more than a small part of the time.
func (a *ahead) plan() {
	if a.machine.clock.Now().Before(a.again) {
		return
	}
	a.passed = a.machine.view.Generation()
	var inVain time.Duration
	for _, group := range a.inOrder(core.Looked{}) {
		inVain += a.planOne(group)
	}
	a.again = a.machine.clock.Now().Add(10 * inVain)
}

// planOne returns how long it took to find no place.
func (a *ahead) planOne(group membership.Key) time.Duration {
	a.machine.mu.Lock()
	defer a.machine.mu.Unlock()
	started := a.machine.clock.Now()
	a.planned = core.PlannedAhead{Group: group}
	if a.machine.apply(&a.planned).decision.Reason != "" {
		return a.machine.clock.Since(started)
	}
	return 0
}

// liftGates has gates lifted that have no reason any more, the gates of a group one after the other. It looks
// at the present state, and not at past events, so that no missed event leaves a pod gated.
func (a *ahead) liftGates() {
	for _, group := range a.inOrder(core.StrayGatesDue{}, core.Looked{}) {
		a.liftGatesOf(group)
	}
}

func (a *ahead) liftGatesOf(group membership.Key) {
	a.machine.mu.Lock()
	defer a.machine.mu.Unlock()
	a.gates = core.GatesDue{Group: group}
	a.machine.apply(&a.gates)
}

// letGo lets those groups go whose room is kept, where it is time.
func (a *ahead) letGo() {
	for _, group := range a.reserved() {
		a.machine.do(core.ConfirmDue{Group: group})
	}
}

func (a *ahead) reserved() []membership.Key {
	a.machine.mu.Lock()
	defer a.machine.mu.Unlock()
	a.machine.receive()
	return a.machine.state.Reserved()
}

// inOrder applies events and returns the groups in the order in which they are planned.
func (a *ahead) inOrder(events ...core.Event) []membership.Key {
	a.machine.mu.Lock()
	defer a.machine.mu.Unlock()
	a.machine.receive()
	for _, event := range events {
		a.machine.apply(event)
	}
	return a.machine.state.Order()
}
