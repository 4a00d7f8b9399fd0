package gang

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	configv1alpha2 "muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
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
	// Holes, if set, is the room that is kept for members by plans of the rescheduler.
	Holes Holes
	// Gates says when the gates of members are lifted.
	Gates configv1alpha2.GangGates
	// Seed breaks ties between nodes.
	Seed uint64
}

// Client writes to pods.
type Client interface {
	nomination.Client
	// Wake has the scheduler try a pod again that it has put aside until an event.
	Wake(ctx context.Context, pod *corev1.Pod) error
	// LiftGate takes a scheduling gate off a pod. It is no error when there is none of the name.
	LiftGate(ctx context.Context, pod *corev1.Pod, gate string) error
	// Evict deletes a pod to make room for somebody, unless another one has its name by now.
	Evict(ctx context.Context, pod *corev1.Pod, preemptor string) error
}

// Holes is room that is kept for pods to come.
type Holes interface {
	// Held are what counts on nodes for pods until they come. It is in the way of others only.
	Held(pods []*cluster.Pod) sets.Set[types.UID]
	// Refresh has what pods have taken not be kept any more.
	Refresh()
	// Left are the nodes that some of the pods, or their kind, are moved off.
	Left(pods []*cluster.Pod) sets.Set[string]
}

// Manager holds the gangs of a cluster together. Its methods are safe for concurrent use.
type Manager struct {
	log       *slog.Logger
	clock     clock.WithTicker
	cluster   *cluster.Cluster
	profiles  *predicates.Profiles
	limits    Limits
	client    Client
	writer    *nomination.Writer
	recorder  Recorder
	holes     Holes // nil for none
	epoch     func() record.Epoch
	write     func(*commit) // has the records of a commit written, and returns at once
	metrics   *metrics
	ahead     ahead
	inbox     inbox
	following sync.Once
	unfollow  func() // once it follows
	gates     configv1alpha2.GangGates

	mu        sync.Mutex // taken before the locks of classes and of the cluster
	groups    map[membership.Key]*group
	groupOf   map[types.UID]*group
	holding   map[string]int          // how many groups of a namespace have places, by its name
	unwoken   map[types.UID]time.Time // members that could not be woken, and when that is tried again
	renewed   time.Time               // assumptions, the last time
	looksAt   int                     // how many nodes the scheduler last asked about for a member that was not nominated
	strays    map[types.UID]*member   // pods of no group that have the gate
	events    []told                  // to be published
	stopped   bool                    // nobody looks after held calls any more
	denied    *denials
	outranked outranked                      // when victims were last looked for
	changed   sets.Set[membership.Key]       // besides groups that are dirty
	tables    map[string]cluster.CustomTable // of PodGroups by label, as Changed last saw them
	seed      uint64                         // of the next plan
}

// New returns a Manager that knows no member until it follows the cluster.
func New(o Options) *Manager {
	m := &Manager{
		log:      o.Logger,
		clock:    o.Clock,
		cluster:  o.Cluster,
		limits:   o.Limits,
		client:   o.Client,
		writer:   o.Writer,
		gates:    o.Gates,
		seed:     o.Seed,
		recorder: o.Recorder,
		epoch:    o.Epoch,
		holes:    o.Holes,
		metrics:  newMetrics(o.Registerer),
		profiles: o.Profiles,
		groups:   map[membership.Key]*group{},
		groupOf:  map[types.UID]*group{},
		holding:  map[string]int{},
		unwoken:  map[types.UID]time.Time{},
		strays:   map[types.UID]*member{},
		changed:  sets.New[membership.Key](),
		tables:   map[string]cluster.CustomTable{},
		looksAt:  math.MaxInt,
		denied:   newDenials(o.Limits.DenyTTL),
		inbox:    inbox{filled: make(chan struct{}, 1), members: sets.New[types.UID]()},
	}
	o.Registerer.MustRegister(newCensus(m))
	m.write = func(c *commit) { go m.writeRecords(c) }
	return m
}

// Follow has the Manager told of members from now on. Calls of verbs may be answered only afterwards: a
// member that it was not told of is refused.
func (m *Manager) Follow() {
	m.following.Do(func() { m.unfollow = m.cluster.FollowPods(m.inbox.put) })
}

// Run plans groups ahead of the scheduler and ends what has taken too long, until the
// context ends. Then all held calls end with an error, but those of a start that is being
// recorded. The view of the cluster must be complete, the pods that have finished must
// have been told, and no other process may be running one.
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
			if m.cluster.Snapshot().Generation == m.ahead.passed {
				continue
			}
		case <-tick.C():
			m.expire()
		}
		m.planAhead()
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

// receive follows what the watch has shown. The caller holds the lock, here and below.
func (m *Manager) receive() {
	for _, state := range m.inbox.take() {
		m.observe(state)
	}
}

func (m *Manager) observe(state cluster.PodState) {
	if state.Pod == nil {
		delete(m.strays, state.UID)
		if g := m.groupOf[state.UID]; g != nil {
			m.leave(g, state.UID)
		}
		return
	}
	if g := m.join(state.Pod); g != nil {
		p := g.members[state.UID]
		g.heard = g.heard && maps.Equal(p.pod.Annotations, state.Pod.Annotations)
		p.pod, g.dirty = state.Pod, true
		switch {
		case state.Pod.Spec.NodeName != "":
			m.enter(p, bound)
			p.place = state.Pod.Spec.NodeName
		case !p.ready():
			m.giveUp(p, errGone)
		default:
			m.withdraw(p)
		}
	}
	m.stray(state.Pod)
}

// join finds the group of a pod and takes the pod in if it is new, nil when it is of
// none.
func (m *Manager) join(pod *cluster.Pod) *group {
	key, of := membership.Of(pod.Pod)
	known := m.groupOf[pod.UID]
	if known != nil && (!of || known.key != key) { // labels can change
		m.leave(known, pod.UID)
		known = nil
	}
	if !of || known != nil {
		return known
	}
	g := m.group(key, pod.CreationTimestamp.Time)
	if g.done.succeeded.Has(pod.UID) || g.done.failed.Has(pod.UID) {
		return nil // what shows it running is late
	}
	if len(g.members) == 0 {
		g.priority = priority(pod)
	}
	g.members[pod.UID] = &member{pod: pod, since: m.clock.Now()}
	g.counts[pending]++
	g.priority = max(g.priority, priority(pod))
	g.schedulerName = pod.Spec.SchedulerName
	g.looked, g.dirty, g.heard, g.tries = 0, true, false, tries{asked: g.tries.asked}
	m.groupOf[pod.UID] = g
	return g
}

// group is the group of a key, of which a pod was created at a time.
func (m *Manager) group(key membership.Key, created time.Time) *group {
	g := m.groups[key]
	if g == nil {
		g = &group{key: key, members: map[types.UID]*member{}, created: created}
		g.done.succeeded, g.done.failed = sets.New[types.UID](), sets.New[types.UID]()
		m.groups[key] = g
	}
	if created.Before(g.created) {
		g.created = created
	}
	return g
}

// leave forgets a member.
func (m *Manager) leave(g *group, uid types.UID) {
	p := g.members[uid]
	m.giveUp(p, errGone)
	g.counts[p.stage]--
	delete(g.members, uid)
	delete(m.groupOf, uid)
	g.dirty, g.heard, g.tries = true, false, tries{asked: g.tries.asked}
	m.forget(g)
}

// forget drops a group that has no pod any more.
func (m *Manager) forget(g *group) {
	if len(g.members)+g.done.succeeded.Len()+g.done.failed.Len() == 0 {
		delete(m.groups, g.key)
		m.changed.Insert(g.key)
	}
}

// giveUp ends what is planned for a member. A call that is held for it ends with an error.
func (m *Manager) giveUp(p *member, why error) {
	switch p.stage {
	case placed, held:
		m.cluster.Release(p.pod.UID)
		p.hold.end(why)
		m.enter(p, pending)
		m.withdraw(p)
	case pending:
		m.withdraw(p)
	default:
	}
}

// enter moves a member to a stage.
func (m *Manager) enter(p *member, to stage) {
	if p.hold != nil {
		m.metrics.holds.Observe(m.clock.Since(p.since).Seconds())
		p.hold.end(nil)
		p.hold = nil
	}
	if to == pending {
		p.place = ""
	}
	if p.stage == to {
		return
	}
	g := m.groupOf[p.pod.UID]
	held := g.holds()
	g.counts[p.stage]--
	g.counts[to]++
	g.dirty = true
	if holds := g.holds(); holds && !held {
		m.holding[g.key.Namespace]++
	} else if held && !holds {
		if m.holding[g.key.Namespace]--; m.holding[g.key.Namespace] == 0 {
			delete(m.holding, g.key.Namespace)
		}
	}
	p.stage, p.since = to, m.clock.Now()
}

// inOrder are the groups in the order in which they are planned.
func (m *Manager) inOrder() []*group {
	groups := make([]*group, 0, len(m.groups))
	for _, g := range m.groups {
		m.spec(g) // what is recorded of it counts
		groups = append(groups, g)
	}
	slices.SortFunc(groups, before)
	return groups
}

// Pass returns once the lock was free, and does nothing else: for who watches over it.
func (m *Manager) Pass() {
	m.mu.Lock()
	defer m.mu.Unlock()
}
