// Package core decides about gangs. It is a state machine without a clock, a client, a
// lock, a goroutine or a channel.
//
// A [State] is all that is known of groups and their members. It changes by [State.Apply] alone (its limits by
// [State.Configure]): an [Event] goes in, and the [Effect]s that have to follow come out, in the order in which
// they are to be carried out. An event reads the cluster through a [View], and asks [Ports] for places while it is
// applied: the core searches nothing itself. All other methods of a State are queries and change nothing.
//
// A gang is planned in one place: a plan (plan.go) asks for places, has gangs of lower priority give way, looks for
// victims (preempt.go), and answers the call that waits for it.
//
// A member goes through these stages:
//
//	pending → placed → held ──→ binding → bound → leaving
//	                   ↑  ↓        ↑
//	                   kept ───→  due
//
// and from each but the last two back to pending. A member is kept when its call has ended by its own time, and
// due when it was let go then. The scheduler is to bind it again. One that is leaving is being deleted: for the quorum it
// is gone already.
//
// What holds after every event, once its effects are carried out:
//
//   - A member that is placed, held, kept or due counts on its place, and a pending one nowhere, unless it may be bound
//     any moment.
//   - A member is held exactly as long as its hold has not ended. A hold ends once, by [EndHold].
//   - A member becomes binding or due only if it and the bound members are enough to start together, and after
//     that was recorded, if there is a PodGroup. A due member becomes binding by itself. Where kube-scheduler starts the
//     group, a member with a place becomes binding at once, and one without when another one is.
//   - The number of groups of a namespace that hold places equals a recount.
//   - A hold ends at the first [Ticked] after its time, or that of its group, is up: by its own the member
//     keeps its place, by that of the group it does not.
//   - A pod that is binding or bound is never released. A due pod has its place for the time that a gang may
//     take.
//   - Equal states, events and answers of ports give equal effects.
package core

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

// State is all that is known of gangs. Its methods are not safe for concurrent use.
type State struct {
	limits  Limits
	groups  map[membership.Key]*group
	groupOf map[types.UID]*group
	strays  map[types.UID]*member       // pods of no group that have the gate
	trees   map[membership.Key][]*group // groups below the same root, by its name
	holding map[string]int              // how many groups of a namespace have places, by its name
	freed   map[types.UID]*cluster.Pod  // refused members that are of no group any more: the scheduler is to try them
	unwoken map[types.UID]time.Time     // members that could not be woken, and when that is tried again
	doomed  map[types.UID]doom          // members of gangs that evictions have broken
	commits map[CommitID]*commit        // that are being recorded
	changed sets.Set[membership.Key]    // besides groups that are dirty
	partly  map[*group]struct{}         // groups as isPartly has it: few, and asked for with each call

	lastHold   HoldID
	lastCommit CommitID
	renewed    time.Time // assumptions, the last time
	looksAt    int       // how many nodes the scheduler last asked about for a member that was not nominated
	stopped    bool      // nobody looks after held calls any more
	turn       turn      // of the last event: its memory serves the next one
}

// New returns a State that knows no member.
func New(limits Limits) *State {
	return &State{
		limits:  limits,
		groups:  map[membership.Key]*group{},
		groupOf: map[types.UID]*group{},
		strays:  map[types.UID]*member{},
		trees:   map[membership.Key][]*group{},
		holding: map[string]int{},
		freed:   map[types.UID]*cluster.Pod{},
		unwoken: map[types.UID]time.Time{},
		doomed:  map[types.UID]doom{},
		commits: map[CommitID]*commit{},
		changed: sets.New[membership.Key](),
		partly:  map[*group]struct{}{},
		looksAt: math.MaxInt,
	}
}

// Configure has other limits be in force from the next event on.
func (s *State) Configure(limits Limits) { s.limits = limits }

// Apply changes the state by an event, which reads the view and asks the ports. [State.Effects] has to follow.
func (s *State) Apply(view View, ports Ports, event Event) {
	t := &s.turn
	clear(t.effects) // so that nothing is kept alive by them
	t.State, t.now, t.view, t.ports, t.effects = s, ports.Now(), view, ports, t.effects[:0]
	event.apply(t)
}

// Effects returns what has to follow the last event, in its order, also if that ended in a panic of a port. The slice is
// good until the next event is applied.
func (s *State) Effects() []Effect { return s.turn.effects }

// turn is the application of one event. Its methods are steps: they change the state and have
// effects.
type turn struct {
	*State
	now     time.Time
	view    View
	ports   Ports
	effects []Effect
	decided Decided
}

// has adds an effect to the turn.
func (t *turn) has(e Effect) { t.effects = append(t.effects, e) }

// member returns a pod that is of a group, nil when it is of none.
func (s *State) member(uid types.UID) *member {
	if g := s.groupOf[uid]; g != nil {
		return g.members[uid]
	}
	return nil
}

// known returns a pod that is a member or may have the gate, nil when it is neither.
func (s *State) known(uid types.UID) *member {
	if p := s.member(uid); p != nil {
		return p
	}
	return s.strays[uid]
}

// those returns some groups in an order that is the same each time.
func (s *State) those(which func(*group) bool) []*group {
	var groups []*group
	for _, g := range s.groups {
		if which(g) {
			groups = append(groups, g)
		}
	}
	slices.SortFunc(groups, byKey)
	return groups
}

// inOrder returns the groups in the order in which they are planned.
func (s *State) inOrder() []*group {
	groups := make([]*group, 0, len(s.groups))
	for _, g := range s.groups {
		groups = append(groups, g)
	}
	slices.SortFunc(groups, before)
	return groups
}

// denies reports whether a group was denied not long ago.
func (t *turn) denies(g *group) bool { return t.now.Before(g.denied) }

// decide has a filter call be answered.
func (t *turn) decide(d Decision) {
	t.decided = Decided{d}
	t.has(&t.decided)
}

// Limits bound what is done for gangs.
type Limits struct {
	membership.Bounds
	// MaxHolding is how many groups of one namespace may have places that have not started, 0 for any number.
	MaxHolding int
	// MaxGap is the percentage of the members to start together that may be without a place while the others
	// keep theirs.
	MaxGap int
	// Hold is how long one bind call is held: less than the scheduler waits for an answer. It is no bound on how
	// long a gang may take: a member that is not let go by then keeps its place, and is held again.
	Hold time.Duration
	// DenyTTL is how long filter refuses a group without a look after its plan failed.
	DenyTTL time.Duration
	// EvictAfter is how long the scheduler has to evict the victims of a gang before muster does.
	EvictAfter time.Duration
	// SeekAfter is how long the scheduler has, after it was told that there is no room for a member, to ask which
	// pods to evict before muster looks for victims by itself. 0 is for ever.
	SeekAfter time.Duration
	// WaitWhenShort keeps members of a gang that has started gated while there is no place for them, where gangs
	// start without calls. Else they are left to the scheduler.
	WaitWhenShort bool
	// BreakAfter is how long after its start too few members of a gang may be bound, where gangs start without calls,
	// before those are evicted. 0 is for ever.
	BreakAfter time.Duration
	// EvictNobody has no victims sought for a gang that has not started, whether the scheduler asks or not.
	EvictNobody bool
	// EvictWhole has all of a gang evicted that evictions for another one leave with too few members.
	EvictWhole bool
	// Rest is how long the search for victims rests at least after it found none.
	Rest time.Duration
	// Renew is how often assumptions are renewed: well within their time to live.
	Renew time.Duration
	// Margin is how long after the watch has shown a reservation the scheduler may act on what it saw before.
	Margin time.Duration
	// Remind is how long after a reservation the scheduler is told of it again: a restarted scheduler has
	// forgotten it, and not every one has a Lease that shows its restart.
	Remind time.Duration
	// Few is how many nodes the scheduler may look at for a pod before it is worth a write to
	// tell it of the one.
	Few int
	// FewOfDevices is the same for a pod that claims devices: to try one on a node costs the scheduler more.
	FewOfDevices int
}
