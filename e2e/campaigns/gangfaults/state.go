package gangfaults

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/history"
)

// state is a moment's state, as the API server says. It is not for use from several goroutines at
// once.
type state struct {
	nodes  map[string]*corev1.Node
	pods   map[types.UID]*corev1.Pod
	groups map[groupKey]podGroup
	told   map[types.UID]string // by muster, about pods without a PodGroup
	ended  map[types.UID]uint64 // the version at which a pod was first seen to have succeeded
	trees  map[string]tree      // by name
	once   map[groupKey]bool    // it has been whole, in the present life of its PodGroup
	claims map[string]*resourcev1.ResourceClaim
}

// groupKey names a group: two labels may have groups of one name.
type groupKey struct{ label, name string }

// podGroup is the content of a PodGroup. The judge reads it without muster's help.
type podGroup struct {
	uid       types.UID
	since     uint64 // the version at which it was first seen
	created   time.Time
	minMember int
	milliCPU  int64  // of minResources
	tree      string // that it is in, "" for none
	says      map[string]string
	status    groupStatus
	// reason is why it waits, "" when it does not say or says only that it does.
	reason string
}

// entry is something that became of an object.
type entry struct {
	at      time.Time // when this process heard of it
	version uint64    // of etcd, so that all entries have one order
	gone    bool

	// One of them:
	node  *corev1.Node
	pod   *corev1.Pod
	group *unstructured.Unstructured
	event *corev1.Event
	claim *resourcev1.ResourceClaim
}

func newState() *state {
	return &state{
		nodes: map[string]*corev1.Node{}, pods: map[types.UID]*corev1.Pod{},
		groups: map[groupKey]podGroup{}, told: map[types.UID]string{}, ended: map[types.UID]uint64{}, once: map[groupKey]bool{},
		claims: map[string]*resourcev1.ResourceClaim{}, trees: map[string]tree{},
	}
}

// apply enters what became of an object and names the groups that it may turn.
func (s *state) apply(e entry) (turned []groupKey) {
	switch {
	case e.node != nil:
		s.nodes[e.node.Name] = e.node
		if e.gone {
			delete(s.nodes, e.node.Name)
		}
	case e.pod != nil:
		if was := s.pods[e.pod.UID]; was != nil {
			turned = append(turned, keyOf(was))
		}
		turned = append(turned, keyOf(e.pod))
		s.pods[e.pod.UID] = e.pod
		if _, has := s.ended[e.pod.UID]; !has && e.pod.Status.Phase == corev1.PodSucceeded {
			s.ended[e.pod.UID] = e.version
		}
		if e.gone {
			delete(s.pods, e.pod.UID)
		}
	case e.group != nil:
		turned = s.applyGroup(e)
	case e.claim != nil:
		s.applyClaim(e)
	case e.event != nil && saysWhy(e.event.Reason):
		if pod := s.pods[e.event.InvolvedObject.UID]; pod != nil {
			s.told[pod.UID] = e.event.Reason
			turned = append(turned, keyOf(pod))
		}
		turned = append(turned, s.applyTold(e.event)...)
	}
	turned = slices.DeleteFunc(turned, func(key groupKey) bool { return key.name == "" })
	for _, key := range turned {
		s.once[key] = s.once[key] || s.standing(key).whole()
	}
	return turned
}

func (s *state) applyClaim(e entry) {
	s.claims[e.claim.Name] = e.claim
	if e.gone {
		delete(s.claims, e.claim.Name)
	}
}

// applyGroup enters an event of a PodGroup, or of a tree, and names the gangs that it may turn. A PodGroup that is created
// again begins another life.
func (s *state) applyGroup(e entry) (turned []groupKey) {
	if isTree(e.group) {
		return s.applyTree(e)
	}
	key := groupKey{labelOf(e.group), e.group.GetName()}
	was, is := s.groups[key]
	if e.gone {
		delete(s.groups, key)
		return []groupKey{key}
	}
	now := readPodGroup(e.group)
	if key.label == native {
		now = readNative(e.group)
	}
	if now.since = e.version; is && was.uid == now.uid {
		now.since = was.since
		if key.label == native { // its events say why, not its status
			now.reason = was.reason
		}
	} else {
		s.once[key] = false
	}
	s.groups[key] = now
	return []groupKey{key}
}

// saysWhy says that an event is muster's and tells why a gang waits. It is known by its reason:
// muster reports under the name of the scheduler that it speaks for.
func saysWhy(reason string) bool {
	switch reason {
	case "MembersMissing", "Unschedulable", "TimedOut", "MembersFailed", "PodGroupNotFound", "PodGroupInvalid":
		return true
	default:
		return false
	}
}

func keyOf(p *corev1.Pod) groupKey {
	if group := p.Spec.SchedulingGroup; group != nil {
		return groupKey{native, *group.PodGroupName}
	}
	label, name, _ := v1alpha1.GroupLabel(p.Labels)
	return groupKey{label, name}
}

func readPodGroup(object *unstructured.Unstructured) podGroup {
	minMember, _, _ := unstructured.NestedInt64(object.Object, "spec", "minMember")
	read := podGroup{
		uid: object.GetUID(), created: object.GetCreationTimestamp().Time, minMember: int(minMember), says: object.GetAnnotations(),
		status: readStatus(object),
	}
	if text, _, _ := unstructured.NestedString(object.Object, "spec", "minResources", "cpu"); text != "" {
		if quantity, err := resource.ParseQuantity(text); err == nil {
			read.milliCPU = quantity.MilliValue()
		}
	}
	if c := read.status.condition; c.status == metav1.ConditionFalse && c.reason != "Waiting" && c.message != "" {
		read.reason = c.reason
	}
	return read
}

// gangs are the groups of all pods that there are.
func (s *state) gangs() map[groupKey]standing {
	gangs := map[groupKey]standing{}
	for _, pod := range s.pods {
		if key := keyOf(pod); key.name != "" {
			gangs[key] = standing{}
		}
	}
	for key := range gangs {
		gangs[key] = s.standing(key)
	}
	return gangs
}

// record holds what the API server told of a run. Its methods are safe for concurrent use.
type record struct {
	bindings *history.Bindings

	mu      sync.Mutex
	entries []entry
	now     *state
	err     error // why it is not complete
}

func newRecord() *record { return &record{bindings: history.NewBindings(), now: newState()} }

func (r *record) observe(event watch.Event) {
	at := time.Now()
	r.bindings.Observe(event)
	object, ok := event.Object.(metav1.Object)
	if !ok {
		return
	}
	e := entry{at: at, gone: event.Type == watch.Deleted}
	switch object := countDevices(event.Object).(type) {
	case *corev1.Node:
		e.node = object
	case *corev1.Pod:
		e.pod = object
	case *unstructured.Unstructured:
		e.group = object
	case *corev1.Event:
		e.event = object
	case *resourcev1.ResourceClaim:
		e.claim = object
	}
	var err error
	e.version, err = strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.err = cmp.Or(r.err, fmt.Errorf("resource version: %w", err))
	}
	r.entries = append(r.entries, e)
	r.now.apply(e)
}

// unsettled says what is not settled in the state as it is now.
func (r *record) unsettled() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.now.unsettled(), r.now.lies(), r.now.leftBehind())
}

// history is all that was observed, until then.
func (r *record) history() ([]entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries), r.err
}

// standing is how a gang stands.
type standing struct {
	minMember int // 0 when nothing says it
	bound     int // and neither finished nor being deleted
	running   int // of those
	going     int // are being deleted
	succeeded int // in the present life of the PodGroup
	failed    int
	// older is how many of the succeeded were created before the PodGroup. They count if they were there for a start
	// that it records, which is not known here.
	older   int
	pending []*corev1.Pod // that may be scheduled
	reason  string        // that it waits for
	match   v1alpha1.MatchPolicy
	with    []string // the names of groups that it starts together with
	tree    string   // that it is in, "" for none
	near    nearness
	once    bool  // it has been whole
	asks    int64 // minResources, in thousandths of a core
}

// standing of a gang, with nil pods for one that has none.
func (s *state) standing(key groupKey) standing {
	g := standing{once: s.once[key]}
	group, exists := s.groups[key]
	if exists {
		g.minMember, g.reason, g.asks, g.tree = group.minMember, group.reason, group.milliCPU, group.tree
		g.hear(group.says)
	}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		pod := s.pods[name]
		if keyOf(pod) != key {
			continue
		}
		if text, says := pod.Annotations[v1alpha1.AnnotationMinMember]; says && !exists {
			g.minMember, _ = strconv.Atoi(text)
			g.hear(pod.Annotations)
		}
		if pod.Status.Phase == corev1.PodSucceeded {
			g.succeed(s, pod, group, exists)
			continue
		}
		g.count(pod)
	}
	if exists && group.status.phase == "Finished" && g.bound+len(g.pending) == 0 {
		g.reason = cmp.Or(g.reason, "it had finished before more was asked of it")
	}
	if !exists || key.label == native {
		g.reason = cmp.Or(s.reasonOf(g.pending), group.reason)
	}
	return g
}

// reasonOf is why a group without an object waits, as members were told.
func (s *state) reasonOf(pending []*corev1.Pod) string {
	if len(pending) == 0 {
		return "nobody waits who could be told"
	}
	for _, pod := range pending {
		if reason := s.told[pod.UID]; reason != "" {
			return reason
		}
	}
	return ""
}

// count counts a pod that has not succeeded.
func (g *standing) count(pod *corev1.Pod) {
	switch {
	case pod.Status.Phase == corev1.PodFailed:
		g.failed++
	case pod.DeletionTimestamp != nil:
		g.going++
	case pod.Spec.NodeName != "":
		if g.bound++; pod.Status.Phase == corev1.PodRunning {
			g.running++
		}
	default:
		g.pending = append(g.pending, pod)
	}
}

// succeed counts a pod that has succeeded, unless it had before there was the PodGroup.
func (g *standing) succeed(s *state, pod *corev1.Pod, group podGroup, exists bool) {
	if exists && s.isFormer(pod, group) {
		return
	}
	g.succeeded++
	if exists && pod.CreationTimestamp.Time.Before(group.created) {
		g.older++
	}
}

// isFormer says that a pod has succeeded before there was the PodGroup.
func (s *state) isFormer(pod *corev1.Pod, group podGroup) bool {
	ended, has := s.ended[pod.UID]
	return has && ended < group.since
}

// hear reads how a group says that it is to start.
func (g *standing) hear(says map[string]string) {
	g.match, g.with, g.near = v1alpha1.MatchPolicy(says[v1alpha1.AnnotationMatchPolicy]), nil, readNearness(says)
	for _, key := range []string{v1alpha1.AnnotationGroups, v1alpha1.AnnotationKoordinatorGroups} {
		var names []string
		if json.Unmarshal([]byte(says[key]), &names) != nil {
			continue
		}
		for _, name := range names {
			_, name, _ = strings.Cut(name, "/")
			g.with = append(g.with, name)
		}
	}
}

// got is how many count towards minMember.
func (g standing) got() int { return g.bound + g.succeeded }

// satisfied says that members may start one by one, whatever became of the others.
func (g standing) satisfied() bool { return g.match == v1alpha1.MatchOnceSatisfied && g.once }

// partial says that some members are bound or have been, and fewer than must start together.
func (g standing) partial() bool {
	return g.got()-g.older > 0 && g.got() < g.minMember && !g.satisfied()
}

// whole says that enough members to start are bound, or have been.
func (g standing) whole() bool { return g.minMember > 0 && g.got() >= g.minMember }

// lacks is how many members have to start together yet, at most.
func (g standing) lacks() int {
	if g.match == v1alpha1.MatchOnlyWaiting {
		return g.minMember // a batch of its own
	}
	return max(g.minMember-g.got()+g.older, 0)
}

// usable are the members that the scheduler does not refuse by itself.
func (g standing) usable() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(g.pending), unbindable)
}
