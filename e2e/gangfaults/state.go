package gangfaults

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// state is what there is at a moment, as the API server says. It is not for use from several
// goroutines at once.
type state struct {
	nodes  map[string]*corev1.Node
	pods   map[types.UID]*corev1.Pod
	groups map[groupKey]podGroup
	told   map[types.UID]string // by muster, about pods without a PodGroup
	ended  map[types.UID]uint64 // the version at which a pod was first seen to have succeeded
	once   map[groupKey]bool    // it has been whole, in the present life of its PodGroup
	claims map[string]*resourcev1.ResourceClaim
}

// groupKey names a group: two labels may have groups of one name.
type groupKey struct{ label, name string }

// podGroup is what a PodGroup says. The judge reads it without muster's help.
type podGroup struct {
	uid       types.UID
	since     uint64 // the version at which it was first seen
	created   time.Time
	minMember int
	milliCPU  int64 // of minResources
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
		claims: map[string]*resourcev1.ResourceClaim{},
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
		key := groupKey{labelOf(e.group), e.group.GetName()}
		turned = append(turned, key)
		s.applyGroup(key, e)
	case e.claim != nil:
		s.applyClaim(e)
	case e.event != nil && saysWhy(e.event.Reason):
		if pod := s.pods[e.event.InvolvedObject.UID]; pod != nil {
			s.told[pod.UID] = e.event.Reason
			turned = append(turned, keyOf(pod))
		}
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

// applyGroup enters what became of a PodGroup. One that is created anew begins another life.
func (s *state) applyGroup(key groupKey, e entry) {
	was, is := s.groups[key]
	if e.gone {
		delete(s.groups, key)
		return
	}
	now := readPodGroup(e.group)
	if now.since = e.version; is && was.uid == now.uid {
		now.since = was.since
	} else {
		s.once[key] = false
	}
	s.groups[key] = now
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
	label, name, _ := v1alpha1.GroupLabel(p.Labels)
	return groupKey{label, name}
}

func labelOf(group *unstructured.Unstructured) string {
	apiGroup, _, _ := strings.Cut(group.GetAPIVersion(), "/")
	for _, label := range v1alpha1.GroupLabels() {
		if v1alpha1.APIGroupOf(label) == apiGroup {
			return label
		}
	}
	return ""
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
