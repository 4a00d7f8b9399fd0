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
	strays  map[types.UID]*member      // pods of no group that have the gate
	holding map[string]int             // how many groups of a namespace have places, by its name
	freed   map[types.UID]*cluster.Pod // refused members that are of no group any more: the scheduler is to try them
	unwoken map[types.UID]time.Time    // members that could not be woken, and when that is tried again
	doomed  map[types.UID]doom         // members of gangs that evictions have broken
	commits map[CommitID]*commit       // that are being recorded
	changed sets.Set[membership.Key]   // besides groups that are dirty
	partly  map[*group]struct{}        // groups as isPartly has it: few, and asked for with each call

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
