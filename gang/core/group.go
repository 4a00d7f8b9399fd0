package core

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/predicates"
)

// stage is how far a member is.
type stage int

const (
	pending  stage = iota
	placed         // counts on its place
	held           // and its bind call waits
	kept           // and its bind call has ended by its own time: it is to come again
	reserved       // counts on its place, and the scheduler keeps its room: its gate is on
	due            // let go, while no call of its waited: the next one goes on at once
	binding        // let go
	bound          // as the watch shows, or the API server said
	leaving        // it was bound, and is being deleted: it counts no more
	stages
)

func (s stage) String() string {
	return [stages]string{"pending", "placed", "held", "kept", "reserved", "due", "binding", "bound", "leaving"}[s]
}

// member is a pod of a group that has neither finished nor gone.
type member struct {
	pod   *cluster.Pod // as the watch last showed it
	stage stage
	since time.Time // of the stage
	place string    // the node, unless it is pending
	hold  HoldID    // while it is held, else 0
	until time.Time // the hold ends, or a member that is due has its place

	// went says that it was let go in the last start of its group: unless it is bound, or
	// about to be, it was left behind.
	went bool
	// startOf is the PodGroup for whose start it was there, as this process has last recorded; "" for none.
	startOf types.UID
	// knows is the node to which the pod was nominated when the scheduler last asked about it.
	knows string
	// refused says that filter has refused it since it was last told of a place. The scheduler
	// waits for an event then.
	refused bool
	// told is the reason with which filter last refused it, "" for none. It is untrue once the scheduler is to ask again,
	// as that is over.
	told   string
	untrue bool
	// astray says that its place was not among the nodes that the scheduler then asked about.
	astray bool
	// withdrawn is the version of the pod whose nomination is being taken back, "" for none.
	withdrawn string
	// forgotten is the version of the pod of whose nomination the scheduler does not know, "" for none.
	forgotten string
	posted    bool        // its nomination is on its way
	room      record.Room // how its place is kept, once it was reserved
	// inherited says that a former process has nominated it, and this one has no plan for its group yet: the room is
	// kept for a while.
	inherited bool
	claim     string    // a cordoned node to which it is nominated while it has no place, "" for none: see claiming
	toldAt    time.Time // when the scheduler was last told of its place, for a gang that starts without calls

	gateState
	lag
}

// gateState is the progress of lifting the gate of a member.
type gateState struct {
	gate      gate
	liftAgain time.Time     // after it could not be lifted
	liftRest  time.Duration // that it was left then
}

// waitsForCall reports whether it counts on its place, and the scheduler is to bind it there.
func (p *member) waitsForCall() bool {
	return p.stage == placed || p.stage == kept || p.stage == reserved || p.stage == due
}

// ready reports whether the scheduler will try the pod, once muster lifts its gate. It does not while a claim of the pod is
// yet to be made (PreEnqueue of its plugin DynamicResources).
func (p *member) ready() bool { return membership.Ready(p.pod.Pod) && !p.lacksClaims() }

func (p *member) lacksClaims() bool { return p.pod.ClaimProblem == cluster.ClaimMissing }

// sleeps reports whether the scheduler waits for an event to try the pod again.
func (p *member) sleeps() bool { return p.refused || p.pod.Tried() }

// group is the members of one group and what is planned for them.
type group struct {
	key           membership.Key
	root          membership.Key // of its tree of groups, the zero value when it is in none
	members       map[types.UID]*member
	done          done
	counts        counts
	priorities    map[int32]int // how many members have which
	priority      int32         // the highest of a member, 0 without any
	first         types.UID     // the member that was created first, "" before there was one
	schedulerName string        // that of the first member
	created       time.Time     // the first member that was seen, by its creation
	dirty         bool          // something may have changed since it was last told
	demand
	planning
	prospects
	starts
	waiting
}

// demand holds the users' demands on a group.
type demand struct {
	spec  *membership.Spec // as it was last read
	heard bool             // it is taken from the present members, if there is no object
}

// planning is how far the places of a group are.
type planning struct {
	store   *predicates.VerdictStore // of its profile, when it was last planned
	planned time.Time                // when the present plan was made, zero when there is none
	failed  time.Time                // the last denial
	denied  time.Time                // until then it is refused without a look
	looked  uint64                   // the generation of the cluster when the last plan failed, 0 for none
	again   time.Time                // when it may be planned again, ahead of the scheduler
	// lackedPlaces says that it waits because no places were found when it was last planned.
	lackedPlaces bool
	// found is how many places the last plan found all the same, if only this group was planned.
	found    int
	tries    tries
	patience patience
	courtesy courtesy
	// rivals is how many pods had come to wait when the last of its places was shown to be reserved.
	rivals uint64
	// firstEnd is no later than the end of any call that is held, zero when that is to be found out.
	firstEnd time.Time
	// clearing describes the victims that the present plan waits for, nil when it waits for none.
	clearing *clearing
}

// prospects describe the pods that might be evicted for a group.
type prospects struct {
	// sought is the generation of the cluster when the last search for victims failed, 0 for
	// none, and soughtAgain when the next one may be made.
	sought      uint64
	inTheWay    string // what it found in the way though all go that may, "" when that is not known
	soughtAgain time.Time
	// soughtOnce is when the next one may be made though nothing has changed, as a pod has run for long enough then; zero for never.
	soughtOnce time.Time
	// noRoom is since when the scheduler knows that there is no room for the group, and has not asked which
	// pods to evict; zero when it has, or there is room.
	noRoom time.Time
}

// starts describe the past starts of a group.
type starts struct {
	satisfied bool // enough to start together were bound once, as far as this process has seen
	// unsure are members whose binding had no answer: they may be bound nevertheless.
	unsure    sets.Set[types.UID]
	recording CommitID       // that is on its way, 0 for none and when it was denied meanwhile
	record    *record.Record // the last one that this process wrote
	completed time.Time      // of the last record whose members were all bound
	of        types.UID      // of the PodGroup whose starts these are, "" before there was one
	short     time.Time      // since when too few members are bound after a start, zero when that is not so
}

// waiting is why a group does not start; the zero value when it does.
type waiting struct {
	reason status.Reason
	why    string // the same in words
}

// waits notes why the group does not start; None when it does.
func (g *group) waits(reason status.Reason, why string) {
	g.dirty = g.dirty || g.reason != reason || g.why != why
	g.waiting, g.lackedPlaces, g.found = waiting{reason, why}, false, 0
}

// counts is how many members are how far.
type counts [stages]int

// assigned returns how many are bound, or let go to be.
func (c counts) assigned() int { return c[due] + c[binding] + c[bound] }

// came returns how many were let through by the scheduler to their bindings, or have their room kept by it, and wait
// for the others.
func (c counts) came() int { return c[held] + c[kept] + c[reserved] }

// holds reports whether members have places to which they are not on their way.
func (g *group) holds() bool { return g.counts[placed]+g.counts.came() > 0 }

// keeps reports whether members count on places without being bound there.
func (g *group) keeps() bool { return g.holds() || g.counts[due] > 0 }

// in returns the members in some stages, in the order in which the scheduler takes them.
func (g *group) in(stages ...stage) []*member {
	return g.those(func(p *member) bool { return slices.Contains(stages, p.stage) })
}

// those returns some members in the order in which the scheduler takes them.
func (g *group) those(which func(*member) bool) []*member {
	var members []*member
	for _, p := range g.members {
		if which(p) {
			members = append(members, p)
		}
	}
	slices.SortFunc(members, byTurn)
	return members
}

func everyone(*member) bool { return true }

// older compares members by their creation, then by their UIDs.
func older(a, b *member) int {
	return cmp.Or(a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time), cmp.Compare(a.pod.UID, b.pod.UID))
}

// byTurn compares members by the order in which the scheduler takes them.
func byTurn(a, b *member) int {
	return cmp.Or(
		cmp.Compare(priority(b.pod), priority(a.pod)),
		a.pod.CreationTimestamp.Compare(b.pod.CreationTimestamp.Time),
		cmp.Compare(a.pod.Name, b.pod.Name),
		cmp.Compare(a.pod.UID, b.pod.UID),
	)
}

// candidates returns the pending members that are ready. Members that had no bind call when others had one come
// last: the scheduler may refuse them by itself, and the others may be enough. The first of them is the member that
// has been without a place for longest, so that two refused members do not keep a third from its turn.
func (g *group) candidates() []*member {
	members := g.those(func(p *member) bool { return p.stage == pending && p.ready() && !p.behind })
	behind := g.those(func(p *member) bool { return p.stage == pending && p.ready() && p.behind })
	slices.SortStableFunc(behind, func(a, b *member) int { return a.since.Compare(b.since) })
	return append(members, behind...)
}

func podsOf(members []*member) []*cluster.Pod {
	pods := make([]*cluster.Pod, 0, len(members))
	for _, p := range members {
		pods = append(pods, p.pod)
	}
	return pods
}

func priority(pod *cluster.Pod) int32 { return corev1helpers.PodPriority(pod.Pod) }

// letGo returns how many pods were let go to be bound and have not failed, including the ones that have
// succeeded.
func (g *group) letGo() int { return g.counts.assigned() + g.done.succeeded }

// wereBound returns how many pods are bound, or were and have succeeded.
func (g *group) wereBound() int { return g.counts[bound] + g.done.succeeded }

// begun is 1 for a group with members that are bound, or were let go: its missing members go first, as it may
// be half a gang that was left behind.
func (g *group) begun() int {
	if g.letGo() > 0 || g.leftHalf() {
		return 1
	}
	return 0
}

// before compares two groups by the order in which they are planned.
func before(a, b *group) int {
	return cmp.Or(
		cmp.Compare(b.begun(), a.begun()),
		cmp.Compare(b.priority, a.priority),
		a.tried().Compare(b.tried()),
		cmp.Compare(a.key.Namespace, b.key.Namespace),
		cmp.Compare(a.key.Name, b.key.Name),
		cmp.Compare(a.key.Label, b.key.Label),
	)
}

// byKey compares groups where their order does not matter, but has to be the same each time.
func byKey(a, b *group) int {
	return cmp.Or(
		cmp.Compare(a.key.Namespace, b.key.Namespace), cmp.Compare(a.key.Name, b.key.Name), cmp.Compare(a.key.Label, b.key.Label),
	)
}

// tried returns the time of the last failure, or of the creation before the first.
func (g *group) tried() time.Time {
	if g.failed.IsZero() {
		return g.created
	}
	return g.failed
}

// deadline returns when the present plan ends without quorum.
func (g *group) deadline(spec *membership.Spec) time.Time {
	if g.clearing != nil {
		return g.clearing.until
	}
	return g.planned.Add(spec.Timeout)
}
