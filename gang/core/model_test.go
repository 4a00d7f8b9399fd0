package core

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/predicates"
)

// A model is a small cluster: a few pods of two groups, nodes with room for a few, an API server and a
// scheduler that do one thing at a time, in any order. What it does not have is a limit on who comes first.

const (
	mostPods   = 6
	mostNodes  = 3
	mostGroups = 2
)

// model is what does not change while it is explored.
type model struct {
	name    string
	gates   Gates
	policy  string              // the match policy of all groups
	bundle  bool                // the groups name one another
	room    []int               // by node
	groups  [mostPods]int       // of each pod
	ranks   [mostPods]int32     // the priority of each pod
	late    [mostPods]bool      // the pod does not exist at first
	gated   bool                // pods are created with the gate
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

// kind is what may happen.
type kind int8

const (
	create     kind = iota
	ask             // a filter call, the answer of which is taken
	askElse         // a filter call about nodes without the place
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
	replace         // a deleted pod is created anew
	succeed         // a bound pod ends
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
	kinds
)

var kindNames = [kinds]string{
	"create", "ask", "ask without its place", "ask while nodes change", "bind", "is bound", "is seen bound", "binding fails",
	"binding is not answered", "was bound", "was not bound", "hang up", "recorded", "not recorded in time", "PodGroup changed", "fenced",
	"plan ahead", "delete", "replace", "succeed", "change minMember", "tick", "a second", "a long time", "stop", "assumption expires",
	"node goes", "preempt", "victim goes", "gates due", "gate lifted",
}

// step is one thing that happens, to a pod, a group, a node or a commit.
type step struct {
	kind kind
	of   int8
}

func (s step) String() string { return fmt.Sprint(kindNames[s.kind], " ", s.of) }

// phase is what the API server knows of a pod.
type phase int8

const (
	absent phase = iota
	waits
	isBound
	hasSucceeded
)

type modelPod struct {
	phase   phase
	version int8 // counts those of its name
	created int16
	place   int8 // where it is bound, or counts; -1 for nowhere
	told    int8 // the node that the scheduler is told, one more; 0 for none
	letGo   bool
	mayBind bool
	left    bool // a binding of its failed
	hold    HoldID
	heldAt  int16
	lifting bool
	free    bool // its gate was lifted
}

type modelGroup struct {
	variant int8
	record  *record.Record
	frozen  int // of a start that was recorded and is not over, 0 for none
	began   int16
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
	commits []WriteRecords
	left    [kinds]int8
	flaky   bool
	freed   []int8 // let go by the present step
	wrong   []error
	decided *Decision
	effects int      // so many until now
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
	m.store, m.made = new(predicates.VerdictStore), map[string]*cluster.Pod{}
	m.objects, m.seen = map[string]*v1alpha1.Observed{}, map[[2]int]*cluster.Node{}
	w := &world{model: m, moment: 1, left: m.faults, state: New(Limits{
		Bounds: membership.Bounds{Timeout: modelTimeout, MaxTimeout: time.Hour, MaxMembers: 10},
		Hold:   modelHold, DenyTTL: time.Second, Evict: time.Second, Rest: time.Millisecond, Renew: 5 * time.Second, Few: 100,
	}, m.gates)}
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

// uid tells a pod from those that had its name before.
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

// object is a pod as the watch shows it.
func (w *world) object(i int) *cluster.Pod {
	p := &w.pod[i]
	on := ""
	if p.phase == isBound {
		on = nodeName(p.place)
	}
	key := fmt.Sprint(i, p.version, p.created, on, p.free)
	if w.made[key] == nil {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "n", Name: fmt.Sprint("p", i, p.version), UID: w.uid(i), CreationTimestamp: metav1.NewTime(at(p.created)),
				Labels: map[string]string{v1alpha1.LabelX: groupNames[w.groups[i]]}, ResourceVersion: key,
			},
			Spec: corev1.PodSpec{NodeName: on, Priority: &w.ranks[i], SchedulerName: "s"},
		}
		if w.gated && !p.free {
			pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.SchedulingGate}}
		}
		w.made[key] = &cluster.Pod{Pod: pod, Namespace: "n"}
	}
	return w.made[key]
}

// Generation implements View, as all that follow.
func (w *world) Generation() uint64 { return w.moment }

func (w *world) PodGroup(key membership.Key) *v1alpha1.Observed {
	return w.group[key.Name[0]-'a'].object
}

// readGroup has the watch show a PodGroup as the API server has it.
func (w *world) readGroup(group int) {
	g := &w.group[group]
	text := fmt.Sprint(group, g.variant)
	if g.record != nil {
		text = fmt.Sprint(text, g.record.Members, g.record.MinMember, g.record.Time.Unix())
	}
	if w.objects[text] == nil {
		annotations := map[string]any{}
		if w.policy != "" {
			annotations[v1alpha1.AnnotationMatchPolicy] = w.policy
		}
		if w.bundle {
			annotations[v1alpha1.AnnotationGroups] = `["n/a", "n/b"]`
		}
		if r := g.record; r != nil {
			annotations[record.Annotation] = fmt.Sprintf(`{"members":%d,"minMember":%d,"time":%q}`,
				r.Members, r.MinMember, r.Time.Format(time.RFC3339))
		}
		w.objects[text] = v1alpha1.Observe(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
			"metadata": map[string]any{"name": groupNames[group], "namespace": "n", "annotations": annotations},
			"spec":     map[string]any{"minMember": w.least[group][g.variant]},
		}})
	}
	g.object = w.objects[text]
}

func (w *world) Node(name string) *cluster.Node {
	node := nodeIndex(name)
	if node < 0 || w.gone[node] {
		return nil
	}
	key := [2]int{int(node)}
	for i, on := range w.singles {
		if on == int(node) && w.single[i] < 2 {
			key[1] |= 1 << i
		}
	}
	if w.seen[key] == nil {
		n := &cluster.Node{}
		for i := range w.singles {
			if key[1]&(1<<i) != 0 {
				n.Pods = append(n.Pods, w.singlePod(i))
			}
		}
		w.seen[key] = n
	}
	return w.seen[key]
}

func (w *world) singlePod(i int) *cluster.Pod {
	key := fmt.Sprint("single ", i)
	if w.made[key] == nil {
		w.made[key] = &cluster.Pod{Pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: key, UID: types.UID("s" + strconv.Itoa(i)), Namespace: "n"},
			Spec:       corev1.PodSpec{NodeName: nodeName(int8(w.singles[i]))},
		}, Namespace: "n"}
	}
	return w.made[key]
}

func (w *world) NodeCount() int { return len(w.room) }

func (w *world) NodeNames() *cluster.NodeNames { return nil }

func (w *world) Pods() iter.Seq[*cluster.Pod] {
	return func(yield func(*cluster.Pod) bool) {
		for i := range w.singles {
			if w.single[i] < 2 && !yield(w.singlePod(i)) {
				return
			}
		}
		for i := range w.pods {
			if w.pod[i].phase == isBound && !yield(w.object(i)) {
				return
			}
		}
	}
}

func (w *world) Assumed(uid types.UID) string {
	if i := w.index(uid); i >= 0 && w.pod[i].phase == waits {
		return nodeName(w.pod[i].place)
	}
	return ""
}

func (w *world) Binding(uid types.UID) string {
	if i := w.index(uid); i >= 0 && w.pod[i].mayBind {
		return nodeName(w.pod[i].place)
	}
	return ""
}

func (w *world) Profile(string) *predicates.VerdictStore { return w.store }

// apply feeds an event to the core and carries out what follows, as the shell does.
func (w *world) apply(event Event) {
	effects := append([]Effect(nil), w.state.Apply(at(w.now), w, event)...)
	var answers []Event
	w.effects += len(effects)
	for _, e := range effects {
		if w.log != nil {
			w.log = append(w.log, describe(e))
		}
		if answer := w.carryOut(e, event); answer != nil {
			answers = append(answers, answer)
		}
	}
	for _, answer := range answers {
		w.apply(answer)
	}
}

// describe is an effect in words, without what is not data.
func describe(e Effect) string {
	switch e := e.(type) {
	case FindPlaces:
		return fmt.Sprint("find places ", describeSearch(e.Search))
	case FindWithout:
		return fmt.Sprint("find without ", describeSearch(e.Search), len(e.Without), e.On)
	case FindVictims:
		return fmt.Sprint("find victims ", describeSearch(e.Search))
	case Proceed:
		return "proceed"
	case Evict:
		return fmt.Sprint("evict ", e.Pod.Name)
	case Write:
		return fmt.Sprint("write ", e.Pod.Name, e.Node)
	case WriteRecords:
		text := fmt.Sprint("record ", e.Commit, e.Until.Unix())
		for _, r := range e.Records {
			text += fmt.Sprint(r.Group.Name, r.Record)
		}
		return text
	case *Decided:
		return fmt.Sprintf("decided %+v", e.Decision)
	case Preempted:
		return fmt.Sprint("preempted ", e.Starting, e.Node, len(e.Victims))
	default:
		return fmt.Sprintf("%T %+v", e, e)
	}
}

func describeSearch(s Search) (text string) {
	for _, p := range s.Parts {
		text += fmt.Sprint(p.Key.Name, p.AtLeast)
		for _, pod := range p.Pods {
			text += pod.Name
		}
	}
	return text
}

func (w *world) carryOut(effect Effect, event Event) Event {
	switch e := effect.(type) {
	case Release:
		w.release(e.UID)
	case Renew:
		if w.Assumed(e.UID) == "" {
			return Uncounted(e)
		}
	case BeginHold:
		i := w.index(event.(Binds).UID)
		if w.pod[i].hold == 0 {
			w.pod[i].hold, w.pod[i].heldAt = e.Hold, w.now
		}
	case EndHold:
		w.endHold(e)
	case RefuseBind:
		w.pod[w.index(event.(Binds).UID)].told = 0
	case WriteRecords:
		w.checkRecords(e)
		w.commits = append(slices.Clip(w.commits), e)
	case LiftGate:
		w.pod[w.index(e.UID)].lifting = true
	case Evict:
		w.evict(e.Pod)
	case Denied:
		if errors.Is(e.Err, ErrOutranked) && w.begun {
			w.bad("a gang gives way that has begun to start")
		}
	case *Decided:
		decision := e.Decision
		w.decided = &decision
	case Preempted:
		for _, victim := range e.Victims {
			w.evict(victim)
		}
	case Proceed:
		return Proceeding(e)
	default:
		return w.search(effect)
	}
	return nil
}

func (w *world) evict(pod *cluster.Pod) {
	if i := int(pod.UID[1] - '0'); pod.UID[0] == 's' && w.single[i] == 0 {
		w.single[i] = 1
	}
}

func (w *world) release(uid types.UID) {
	i := w.index(uid)
	switch {
	case i < 0:
		return
	case w.pod[i].phase == isBound:
		w.bad("%s is released, and bound", uid)
	case w.pod[i].letGo:
		w.bad("%s is released while it is being bound", uid)
	case !w.pod[i].mayBind && w.pod[i].place >= 0:
		w.pod[i].place = -1
		w.moment++
	}
}

func (w *world) endHold(e EndHold) {
	for i := range w.pods {
		p := &w.pod[i]
		if p.hold != e.Hold {
			continue
		}
		p.hold = 0
		if e.Err == nil && p.phase == waits {
			p.letGo = true
			w.freed = append(w.freed, int8(i))
		}
		return
	}
	w.bad("hold %d is ended, and has ended already or never began", e.Hold)
}

// free is how many more pods a node takes.
func (w *world) free(node int8, without map[types.UID]bool) int {
	if w.gone[node] {
		return 0
	}
	free := w.room[node]
	for i, on := range w.singles {
		if on == int(node) && w.single[i] < 2 {
			free--
		}
	}
	for i := range w.pods {
		if p := &w.pod[i]; p.place == node && (p.phase == waits || p.phase == isBound) && !without[w.uid(i)] {
			free--
		}
	}
	return free
}

// search answers what the core asks for: each pod goes to the first node with room.
func (w *world) search(effect Effect) Event {
	switch e := effect.(type) {
	case FindPlaces:
		if w.flaky {
			w.flaky = false
			return NodesChanged{e.Attempt, true}
		}
		places, _, ok := w.fit(e.Search, nil, nil)
		if !ok {
			return NoPlaces{e.Attempt, "no room"}
		}
		w.assume(places)
		return PlacesFound{e.Attempt, places, len(w.room)}
	case FindWithout:
		without := map[types.UID]bool{}
		for _, pod := range e.Without {
			without[pod.UID] = true
		}
		places, _, _ := w.fit(e.Search, without, nil)
		nodes := Nodes{}
		for _, p := range places {
			nodes.Insert(p.Node)
		}
		return FoundWithout{e.Attempt, nodes}
	case FindVictims:
		places, victims, ok := w.fit(e.Search, nil, e.Terms)
		if !ok {
			return NoVictims{e.Attempt, 0}
		}
		w.assume(places)
		return VictimsFound{e.Attempt, places, len(w.room), victims}
	default:
		return nil
	}
}

func (w *world) assume(places []Planned) {
	for _, p := range places {
		w.pod[w.index(p.UID)].place = nodeIndex(p.Node)
	}
	w.moment++
}

func (w *world) fit(s Search, without map[types.UID]bool, terms *Terms) (places []Planned, victims map[string][]Victim, ok bool) {
	var free [mostNodes]int
	for node := range w.room {
		free[node] = w.free(int8(node), without)
	}
	victims = map[string][]Victim{}
	taken := map[types.UID]bool{}
	for _, part := range s.Parts {
		placed := 0
		for _, pod := range part.Pods {
			node := w.fitOne(&free, terms, victims, taken)
			if node < 0 {
				continue
			}
			placed++
			places = append(places, Planned{pod.UID, nodeName(node)})
		}
		if placed < part.AtLeast {
			return nil, nil, false
		}
	}
	return places, victims, true
}

func (w *world) fitOne(free *[mostNodes]int, terms *Terms, victims map[string][]Victim, taken map[types.UID]bool) int8 {
	for node := range w.room {
		if free[node] > 0 {
			free[node]--
			return int8(node)
		}
	}
	if terms == nil {
		return -1
	}
	for i, on := range w.singles {
		pod := w.singlePod(i)
		if _, may := terms.May(pod); may && w.single[i] < 2 && !taken[pod.UID] {
			taken[pod.UID] = true
			victims[nodeName(int8(on))] = append(victims[nodeName(int8(on))], Victim{Pod: pod})
			return int8(on)
		}
	}
	return -1
}

var errModel = errors.New("the API server is away")
