package gangfaults

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
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
}

// groupKey names a group: two labels may have groups of one name.
type groupKey struct{ label, name string }

// podGroup is what a PodGroup says. The judge reads it without muster's help.
type podGroup struct {
	minMember int
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
}

func newState() *state {
	return &state{
		nodes: map[string]*corev1.Node{}, pods: map[types.UID]*corev1.Pod{},
		groups: map[groupKey]podGroup{}, told: map[types.UID]string{},
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
		if e.gone {
			delete(s.pods, e.pod.UID)
		}
	case e.group != nil:
		key := groupKey{labelOf(e.group), e.group.GetName()}
		turned = append(turned, key)
		s.groups[key] = readPodGroup(e.group)
		if e.gone {
			delete(s.groups, key)
		}
	case e.event != nil && saysWhy(e.event.Reason):
		if pod := s.pods[e.event.InvolvedObject.UID]; pod != nil {
			s.told[pod.UID] = e.event.Reason
			turned = append(turned, keyOf(pod))
		}
	}
	return slices.DeleteFunc(turned, func(key groupKey) bool { return key.name == "" })
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
	read := podGroup{minMember: int(minMember)}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if fields["type"] == "Scheduled" && fields["status"] == string(metav1.ConditionFalse) && fields["reason"] != "Waiting" &&
			fields["message"] != "" {
			read.reason, _ = fields["reason"].(string)
		}
	}
	return read
}

// standing is how a gang stands.
type standing struct {
	minMember int // 0 when nothing says it
	bound     int // and neither finished nor being deleted
	succeeded int
	pending   []*corev1.Pod // that may be scheduled
	reason    string        // that it waits for
}

// standing of a gang, with nil pods for one that has none.
func (s *state) standing(key groupKey) standing {
	var g standing
	group, exists := s.groups[key]
	if exists {
		g.minMember, g.reason = group.minMember, group.reason
	}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		pod := s.pods[name]
		if keyOf(pod) != key {
			continue
		}
		if text, says := pod.Annotations[v1alpha1.AnnotationMinMember]; says && !exists {
			g.minMember, _ = strconv.Atoi(text)
		}
		switch {
		case pod.Status.Phase == corev1.PodSucceeded:
			g.succeeded++
		case pod.DeletionTimestamp != nil:
		case pod.Spec.NodeName != "":
			g.bound++
		default:
			g.pending = append(g.pending, pod)
			if !exists && g.reason == "" {
				g.reason = s.told[pod.UID]
			}
		}
	}
	if !exists && g.reason == "" && len(g.pending) == 0 {
		g.reason = "nobody waits who could be told"
	}
	return g
}

// partial says that some members are bound or have been, and fewer than must start together.
func (g standing) partial() bool {
	got := g.bound + g.succeeded
	return got > 0 && got < g.minMember
}

// whole says that as many as must start together are bound, or have been.
func (g standing) whole() bool { return g.minMember > 0 && g.bound+g.succeeded >= g.minMember }

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
