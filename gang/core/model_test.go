package core

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/predicates"
)

// A model is a small cluster: a few pods of two groups, nodes with room for a few, an API server and a
// scheduler that do one thing at a time, in any order. It has no limit on the order of events.

const (
	mostPods   = 6
	mostNodes  = 3
	mostGroups = 2
)

// model has everything that does not change while it is explored.
type model struct {
	name    string
	policy  string              // the match policy of all groups
	bundle  bool                // the groups name one another
	room    []int               // by node
	groups  [mostPods]int       // of each pod
	ranks   [mostPods]int32     // the priority of each pod
	late    [mostPods]bool      // the pod does not exist at first
	hold    time.Duration       // of one call, modelHold if it is 0
	preempt time.Duration       // until victims are sought though the scheduler does not ask
	gated   bool                // pods are created with the gate
	ahead   bool                // gangs start without calls of the scheduler
	least   [mostGroups][]int64 // minMember of each group: at first, and when it is changed
	singles []int               // the nodes of bound pods of no group and of a low priority
	faults  [kinds]int8         // how often each kind of step may happen, -1 for any number
	pods    int
	before  []step // that have happened already
	store   *predicates.VerdictStore
	made    map[string]*cluster.Pod
	objects map[string]*v1alpha1.Observed
	seen    map[[2]int]*cluster.Node
	uids    [mostPods][4]types.UID
}

// gates says how long members are gated.
func (m *model) gates() config.Gates {
	switch {
	case m.ahead:
		return config.GatesUntilPlace
	case m.gated:
		return config.GatesUntilMembers
	default:
		return config.GatesNever
	}
}

// kind is the kind of a step.
type kind int8

const (
	create     kind = iota
	ask             // a filter call whose answer is taken
	askElse         // a filter call about nodes without the place, and the place is not good any more
	askMissed       // a filter call about nodes without the place
	askFlaky        // a filter call while nodes change
	bind            // a bind call
	bindOK          // a pod that was let go is bound
	bindSeen        // the watch is faster than the answer
	bindFails       // or it is not
	bindLost        // or the answer is lost
	lostBound       // it was bound
	lostNot         // it was not
	hangUp          // a scheduler gives up a held call
	recordOK        // a start is recorded
	recordLate      // it is not recorded in time
	recordNot       // the PodGroup has changed
	fenced          // a later leader has recorded one
	plan            // a group is planned ahead
	remove          // a pod is deleted
	replace         // a deleted pod is created again
	succeed         // a bound pod ends
	terminate       // it is being deleted
	change          // another minMember is asked for
	tick            // nothing but a look
	wait            // a second
	waitLong        // the time of a gang
	stop            // the process is told to end
	expire          // an assumption expires
	lose            // a node goes
	preempt         // a preempt call
	vanish          // a victim is gone
	gatesDue        // gates are lifted
	gateOK          // a gate was lifted
	recreate        // a PodGroup is deleted and created again
	nominate        // a nomination is written, and seen
	touch           // a pod is woken, and that is seen
	schedule        // a scheduler binds a pod that has no gate
	refuse          // or it does not
	confirm         // places are proven
	rivalBound      // a pod of nobody's is bound
	another         // another scheduler leads
	kinds
)

var kindNames = [kinds]string{
	"create", "ask", "ask without its place", "ask and miss its place", "ask while nodes change",
	"bind", "is bound", "is seen bound", "binding fails",
	"binding is not answered", "was bound", "was not bound", "hang up", "recorded", "not recorded in time", "PodGroup changed", "fenced",
	"plan ahead", "delete", "replace", "succeed", "is being deleted", "change minMember", "tick", "a second",
	"a long time", "stop", "assumption expires",
	"node goes", "preempt", "victim goes", "gates due", "gate lifted", "PodGroup again",
	"nominated", "woken", "is scheduled", "is refused", "confirm", "a rival is bound to", "another scheduler",
}

// step is one thing that happens, to a pod, a group, a node or a commit.
type step struct {
	kind kind
	of   int8
}

func (s step) String() string { return fmt.Sprint(kindNames[s.kind], " ", s.of) }

// phase is the state of a pod at the API server.
type phase int8

const (
	absent phase = iota
	waits
	isBound
	isLeaving
	hasSucceeded
)

// runs reports whether a pod is on its node.
func (p *modelPod) runs() bool { return p.phase == isBound || p.phase == isLeaving }

type modelPod struct {
	phase   phase
	version int8 // counts the pods of its name
	created int16
	place   int8 // where it is bound, or counts; -1 for nowhere
	told    int8 // the node that the scheduler is told, one more; 0 for none
	letGo   bool
	mayBind bool
	left    bool // a binding of its failed
	hold    HoldID
	heldAt  int16
	came    int8 // the node to which it was bound by the scheduler since it counts there, one more; 0 for none
	owed    bool // it was let go while no call of its waited
	owedAt  int16
	begun   CommitID // the last one that was begun while it was there
	lived   int8     // the life of its group in which a start was recorded while it was there
	lifting bool
	goes    bool // its gate is to be lifted, as it was asked
	free    bool // its gate was lifted
	aheadPod
}

type modelGroup struct {
	variant int8
	record  *record.Record
	frozen  int // of a start that was recorded and is not over, 0 for none
	began   int16
	life    int8  // counts its PodGroups
	born    int16 // the present one
	object  *v1alpha1.Observed
}

// world is a state of a model.
type world struct {
	*model
	state   *State
	now     int16
	moment  uint64
	pod     [mostPods]modelPod
	group   [mostGroups]modelGroup
	single  [mostNodes]int8 // 0 there, 1 going, 2 gone
	gone    [mostNodes]bool
	taken   [mostNodes]int8 // by pods that nobody knew of
	commits []WriteRecords
	left    [kinds]int8
	flaky   bool
	sound   int    // searches for places from now on, before one panics; 0 and less for all
	freed   []int8 // let go by the present step
	wrong   []error
	decided *Decision
	effects int      // number until now
	begun   bool     // the first group, before the present step
	log     []string // of effects, if not nil
}

var epoch = time.Unix(1_700_000_000, 0).UTC()

func at(seconds int16) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

const (
	modelTimeout = 10 * time.Second
	modelHold    = 15 * time.Second
)

func newWorld(m *model) *world {
	m.store, m.made = &predicates.VerdictStore{Profile: &predicates.Profile{Gates: m.gates()}}, map[string]*cluster.Pod{}
	m.objects, m.seen = map[string]*v1alpha1.Observed{}, map[[2]int]*cluster.Node{}
	w := &world{model: m, moment: 1, left: m.faults, state: New(Limits{
		Bounds: membership.Bounds{Timeout: modelTimeout, MaxTimeout: time.Hour, MaxMembers: 10}, MaxGap: 10,
		Hold: cmp.Or(m.hold, modelHold), DenyTTL: time.Second, EvictAfter: time.Second, Rest: time.Millisecond, SeekAfter: m.preempt,
		Renew: 5 * time.Second, Few: 100, Margin: modelMargin, Remind: time.Hour,
	})}
	for i := range mostPods {
		for version := range m.uids[i] {
			m.uids[i][version] = types.UID(fmt.Sprintf("p%d.%d", i, version))
		}
	}
	for group := range w.group {
		w.readGroup(group)
	}
	for i := range m.pods {
		w.pod[i].place = -1
		if !m.late[i] {
			w.create(i)
		}
	}
	for _, s := range m.before {
		w.take(s)
	}
	return w
}

func (w *world) bad(format string, args ...any) {
	w.wrong = append(w.wrong, fmt.Errorf(format, args...))
}

var groupNames = [mostGroups]string{"a", "b"}

func keyOf(group int) membership.Key {
	return membership.Key{Label: v1alpha1.LabelX, NamespacedName: types.NamespacedName{Namespace: "n", Name: groupNames[group]}}
}

func nodeName(node int8) string { return [...]string{"", "n0", "n1", "n2"}[node+1] }

func nodeIndex(name string) int8 {
	if name == "" {
		return -1
	}
	return int8(name[1] - '0')
}

// uid tells a pod from former pods of its name.
func (w *world) uid(i int) types.UID {
	return w.uids[i][w.pod[i].version]
}

// index is the pod of a UID, -1 for one that is gone.
func (w *world) index(uid types.UID) int {
	i := int(uid[1] - '0')
	if uid[0] != 'p' || w.uid(i) != uid {
		return -1
	}
	return i
}

var errModel = errors.New("the API server is away")
