package nomination

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/predicates"
)

// Options of a Nominator. All are required, but a seed may be 0, Gates nil where no pod is gated, and Reservations nil where
// nobody keeps room.
type Options struct {
	Registerer prometheus.Registerer
	Clock      clock.WithTicker
	Cluster    *cluster.Cluster
	// Profiles of all pods. The nodeSelection and the gates of each say which of its pods are nominated.
	Profiles *predicates.Profiles
	// Skip says which pods are somebody else's affair.
	Skip func(*cluster.Pod) bool
	// Before, if set, is called before pods of that priority and below are placed: others may have to come first.
	Before func(priority int32)
	// Reservations are taken by the gated pods that they are for. Other pods of theirs are somebody else's affair.
	Reservations Reservations
	Client       Client
	Gates        Gates
	// Writer is run by somebody else, and may be shared.
	Writer *Writer
	Limits Limits
	// Seed breaks ties between nodes. With the same seed and the same events, plans are
	// the same.
	Seed uint64
}

// Nominator nominates pods of the profiles with nodeSelection: Muster: with gates: UntilPlace the gated ones, whose gates it
// lifts, else the ones that wait while a backlog does. Its methods are safe for concurrent use.
type Nominator struct {
	clock    clock.WithTicker
	cluster  *cluster.Cluster
	profiles *predicates.Profiles
	client   Client
	gates    Gates
	limits   Limits
	metrics  *metrics
	writer   *Writer
	inbox    *inbox
	seed     uint64 // of the next plan; only Run uses it
	before   func(priority int32)

	following sync.Once
	unfollow  func() // once it follows

	mu     lock.Mutex
	course *course
}

// New returns a Nominator that does nothing until it is run.
func New(o Options) *Nominator {
	n := &Nominator{
		mu:    lock.New(lock.Nominations),
		clock: o.Clock, cluster: o.Cluster, client: o.Client, gates: o.Gates, limits: o.Limits, profiles: o.Profiles,
		metrics: newMetrics(o.Registerer), writer: o.Writer, inbox: newInbox(), seed: o.Seed, before: o.Before,
	}
	if o.Reservations == nil {
		o.Reservations = noReservations{}
	}
	n.course = &course{
		book:    &book{clock: o.Clock, metrics: n.metrics, nominees: map[types.UID]*nominee{}},
		cluster: o.Cluster, profiles: o.Profiles, skip: o.Skip, limits: o.Limits, jams: map[jam]*stuck{},
		reservations: o.Reservations, pausing: o.Writer.Pausing, posted: func() { n.writer.Post(n.writeNext) },
	}
	return n
}

// Follow has the Nominator told of pods from now on. Calls of verbs may be answered only afterwards, or
// a pod may be planned that the scheduler has taken up already.
func (n *Nominator) Follow() {
	n.following.Do(func() { n.unfollow = n.cluster.FollowGated(n.inbox.put) })
}

// Run nominates until the context ends. The view of the cluster must be complete, and no other process may be
// running one for the same pods. Nominations stay then: the scheduler goes on with them. A Nominator can be run
// once.
func (n *Nominator) Run(ctx context.Context) {
	replaced := n.profiles.Replaced()
	n.Follow()
	defer func() { n.unfollow() }()
	tick := n.clock.NewTicker(n.limits.Tick)
	defer tick.Stop()
	renewed := n.clock.Now()
	for {
		n.receive()
		for ctx.Err() == nil && n.plan() {
			n.receive()
		}
		select {
		case <-ctx.Done():
			return
		case <-n.inbox.filled:
			n.gather(ctx)
		case <-replaced:
			replaced = n.profiles.Replaced()
			n.judgeAnew()
			again := n.cluster.FollowGated(n.inbox.put) // tells of the pods of profiles that are new
			n.unfollow()
			n.unfollow = again
		case <-tick.C():
			n.expireAll()
			if n.clock.Since(renewed) >= n.limits.Renew {
				renewed = n.clock.Now()
				n.renew()
			}
		}
	}
}

// gather lets more pods come, so that they are placed together.
func (n *Nominator) gather(ctx context.Context) {
	timer := n.clock.NewTimer(n.gatherTime())
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

func (n *Nominator) gatherTime() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.course.ahead() >= n.limits.Enough {
		return n.limits.LongGather
	}
	return n.limits.Gather
}

// receive follows what the watch has shown since it was last called.
func (n *Nominator) receive() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.take()
}

// take is receive for callers that hold the lock.
func (n *Nominator) take() {
	for _, event := range n.inbox.take() {
		n.course.observe(event)
	}
}

func (n *Nominator) expireAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.course.nominees {
		n.course.expire(p)
		n.course.letGo(p)
	}
	n.course.probe()
}

// renew keeps pods counted on their nodes.
func (n *Nominator) renew() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for uid, p := range n.course.nominees {
		if p.stage.holds() {
			n.cluster.Renew(uid)
		}
	}
}

// Take says that the scheduler has taken up a pod: from now on the caller decides about
// it, and whether it counts on a node (see [cluster.Cluster.AssumeAll]). It returns the
// node that was planned for the pod, where it still counts, "" when there is none.
func (n *Nominator) Take(uid types.UID) (node string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.take()
	p := n.course.nominees[uid]
	if p == nil {
		n.course.saving.pass(uid, n.clock.Now())
		return ""
	}
	n.course.asked(p)
	if p.stage.holds() {
		node = p.node
		n.inbox.ring() // there is room for more
	}
	switch p.stage {
	case held:
		n.course.end(p, Overtaken)
	case standing:
		n.metrics.lead.Observe(n.clock.Since(p.written).Seconds())
	case waiting, resting, planning, writing, taken, withdrawing, aside:
	}
	n.course.enter(p, taken)
	p.since = n.clock.Now()
	return node
}

// Planned reports whether a pod counts on its node only since it was planned there: the scheduler has
// not taken it up.
func (n *Nominator) Planned(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.course.nominees[uid]
	return p != nil && p.stage.holds()
}

// PlannedBelow are, by node, the pods of less than a priority that Planned speaks of.
func (n *Nominator) PlannedBelow(above int32) map[string][]types.UID {
	n.mu.Lock()
	defer n.mu.Unlock()
	held := map[string][]types.UID{}
	for uid, p := range n.course.nominees {
		if p.stage.holds() && priority(p.pod) < above {
			held[p.node] = append(held[p.node], uid)
		}
	}
	return held
}

// Yield gives up what is planned for pods, as others of higher priority need their places.
func (n *Nominator) Yield(pods []types.UID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, uid := range pods {
		if p := n.course.nominees[uid]; p != nil && p.stage.holds() {
			n.course.end(p, Outranked)
			n.course.giveUp(p)
		}
	}
}

// inbox holds what the watch has shown since it was last read.
type inbox struct {
	filled chan struct{} // has one element when there may be something to do

	mu     lock.Mutex
	events []cluster.PodEvent
}

func newInbox() *inbox { return &inbox{mu: lock.New(lock.Inbox), filled: make(chan struct{}, 1)} }

func (i *inbox) put(event cluster.PodEvent) {
	i.mu.Lock()
	i.events = append(i.events, event)
	i.mu.Unlock()
	i.ring()
}

func (i *inbox) ring() {
	select {
	case i.filled <- struct{}{}:
	default:
	}
}

func (i *inbox) take() []cluster.PodEvent {
	i.mu.Lock()
	defer i.mu.Unlock()
	events := i.events
	i.events = nil
	return events
}

// Pass returns once the lock was free, and does nothing else. A canary calls it.
func (n *Nominator) Pass() {
	n.mu.Lock()
	defer n.mu.Unlock()
}
