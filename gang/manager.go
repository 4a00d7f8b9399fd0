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
	// Reservations, if set, is the room that is kept for members by plans of the rescheduler.
	Reservations Reservations
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
	// Left are the nodes that some of the pods, or their kind, are moved off.
	Left(pods []*cluster.Pod) sets.Set[string]
}

// Manager holds the gangs of a cluster together. Its methods are safe for concurrent use.
type Manager struct {
	*machine
	limits    Limits
	ahead     ahead
	following sync.Once
	unfollow  func() // once it follows
}

// New returns a Manager that knows no member until it follows the cluster.
func New(o Options) *Manager {
	metrics := newMetrics(o.Registerer)
	m := &Manager{limits: o.Limits, machine: &machine{
		mu:    lock.New(lock.Gangs),
		log:   o.Logger,
		clock: o.Clock,
		ports: &ports{
			clock: o.Clock, cluster: o.Cluster, profiles: o.Profiles, reservations: o.Reservations,
			budget: newBudget(o.Clock, o.Limits), took: metrics.planning, seed: o.Seed,
		},
		metrics: metrics,
		inbox:   inbox{mu: lock.New(lock.Inbox), filled: make(chan struct{}, 1), members: sets.New[types.UID]()},
		writes:  writes{o.Client, o.Writer},
		records: records{recorder: o.Recorder, epoch: o.Epoch},
		state:   core.New(o.Limits.Limits),
		holds:   map[core.HoldID]*hold{},
		news:    news{tables: map[string]cluster.CustomTable{}},
	}}
	m.records.write = func(r core.WriteRecords) { go m.writeRecords(r) }
	o.Registerer.MustRegister(newCensus(m))
	return m
}

// Follow has the Manager told of members from now on. Calls of verbs may be answered only afterwards: a
// member that it was not told of is refused.
func (m *Manager) Follow() {
	m.following.Do(func() { m.unfollow = m.ports.cluster.FollowPods(m.inbox.put) })
}

// Run plans groups ahead of the scheduler and ends what has taken too long, until the context ends. Then all
// held calls end with an error, except the calls of a start that is being recorded. Before, the view of the
// cluster must be complete, and Run must have been told the finished pods. No other process may be running one.
func (m *Manager) Run(ctx context.Context) {
	m.Follow()
	defer m.unfollow()
	defer m.endHolds()
	tick := m.clock.NewTicker(m.limits.Tick)
	defer tick.Stop()
	retry := m.clock.NewTicker(m.limits.Retry)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.inbox.filled:
			m.gather(ctx)
		case <-retry.C():
			m.letGo()
			if m.ports.Generation() == m.ahead.passed {
				continue
			}
		case <-tick.C():
			m.expire()
		}
		m.planAhead()
		m.letGo()
		m.liftGates()
	}
}

// gather lets more members come, so that a group is complete when it is looked at.
func (m *Manager) gather(ctx context.Context) {
	timer := m.clock.NewTimer(m.limits.Gather)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// Finished says that a pod has finished, or is gone after that. The view of the cluster may
// show it running for a moment longer, or not show it any more already: it counts once all
// the same.
func (m *Manager) Finished(pod finished.Pod) {
	m.do(core.Finished{Pod: pod})
	if !pod.Gone {
		m.inbox.ring()
	}
}

// expire ends what has taken too long, and keeps the others counted on their places.
func (m *Manager) expire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	m.apply(core.Ticked{})
}

// endHolds ends held calls for good.
func (m *Manager) endHolds() { m.do(core.Stopped{}) }

// ahead is the pace of planning ahead. It belongs to Run.
type ahead struct {
	passed uint64    // the generation of the cluster when all groups were looked at last
	again  time.Time // when they may be looked at again
}

// planAhead plans complete groups before the scheduler asks about them, and denied groups once there is a place
// for them. Plans that fail never take more than a small part of the time.
func (m *Manager) planAhead() {
	if m.clock.Now().Before(m.ahead.again) {
		return
	}
	m.ahead.passed = m.ports.Generation()
	var inVain time.Duration
	for _, group := range m.inOrder(core.Looked{}) {
		inVain += m.planOneAhead(group) // filter calls may come between
	}
	m.ahead.again = m.clock.Now().Add(10 * inVain)
}

// planOneAhead returns how long it took to find no place.
func (m *Manager) planOneAhead(group membership.Key) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	started := m.clock.Now()
	m.planned = core.PlannedAhead{Group: group}
	if m.apply(&m.planned).decision.Reason != "" {
		return m.clock.Since(started)
	}
	return 0
}

// liftGates has gates lifted that have no reason any more, the gates of a group one after the other. It looks
// at the present state, and not at past events, so that no missed event leaves a pod gated.
func (m *Manager) liftGates() {
	for _, group := range m.inOrder(core.StrayGatesDue{}, core.Looked{}) {
		m.liftGatesOf(group) // filter calls may come between
	}
}

// letGo lets those groups go whose room is kept, where it is time.
func (m *Manager) letGo() {
	for _, group := range m.reserved() {
		m.do(core.ConfirmDue{Group: group}) // filter calls may come between
	}
}

func (m *Manager) reserved() []membership.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	return m.state.Reserved()
}

// SchedulerChanged says that another process of kube-scheduler leads, or that it was restarted.
func (m *Manager) SchedulerChanged() { m.do(core.SchedulerChanged{}) }

func (m *Manager) liftGatesOf(group membership.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.due = core.GatesDue{Group: group}
	m.apply(&m.due)
}

// inOrder applies events and returns the groups in the order in which they are planned.
func (m *Manager) inOrder(events ...core.Event) []membership.Key {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	for _, event := range events {
		m.apply(event)
	}
	return m.state.Order()
}

// Pass returns once the lock was free, and does nothing else. A canary calls it.
func (m *Manager) Pass() {
	m.mu.Lock()
	defer m.mu.Unlock()
}
