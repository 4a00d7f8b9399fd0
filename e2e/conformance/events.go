package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// How many pods there are names for, and how many of the last events are kept.
const (
	podNames   = 40
	keptEvents = 12
)

// Change makes one random change: of a node, of what was measured on it, a pod, an object that is neither, or of what
// is assumed.
func (h *History) Change() error {
	switch draw := h.source.upTo(99); {
	case draw < 28:
		return h.changeNode()
	case draw < 58:
		return h.changePod()
	case draw < 66:
		return h.assume()
	case draw < 74:
		return h.measure()
	default:
		return h.changeObject()
	}
}

// Events are the last changes, one a line.
func (h *History) Events() string { return strings.Join(h.events, "\n") }

func (h *History) note(format string, args ...any) {
	if len(h.events) == keptEvents {
		h.events = h.events[1:]
	}
	h.events = append(h.events, fmt.Sprintf(format, args...))
}

func (h *History) setNode(node *corev1.Node, how string) error {
	h.note("node %s: %s", node.Name, how)
	h.nodes[node.Name] = node
	return set(h.cluster, node)
}

// changeNode adds, deletes or changes a node. One that is deleted comes back under the same name.
func (h *History) changeNode() error {
	drawn := h.source.node(nodeName(h.source.upTo(mostNodes - 1)))
	known := h.nodes[drawn.Name]
	if known == nil {
		return h.setNode(drawn, "new")
	}
	next := known.DeepCopy()
	aspect := one(
		h.source, "delete", "labels", "a label", "a label less", "taints", "cordon", "allocatable", "conditions", "images", "features",
		"annotations", "everything", "nothing",
	)
	switch aspect {
	case "delete":
		h.note("node %s: deleted", known.Name)
		delete(h.nodes, known.Name)
		return h.cluster.Delete(known)
	case "a label":
		if next.Labels == nil {
			next.Labels = map[string]string{}
		}
		label := one(h.source, nodeLabels()...)
		next.Labels[label.key] = one(h.source, label.values...)
	case "a label less":
		if keys := slices.Sorted(maps.Keys(next.Labels)); len(keys) > 0 {
			delete(next.Labels, one(h.source, keys...))
		}
	default:
		alter(next, drawn, aspect)
	}
	return h.setNode(next, aspect)
}

// alter changes an aspect of a node to what was drawn.
func alter(node, drawn *corev1.Node, aspect string) {
	switch aspect {
	case "labels":
		node.Labels = drawn.Labels
	case "taints":
		node.Spec.Taints = drawn.Spec.Taints
	case "cordon":
		node.Spec.Unschedulable = !node.Spec.Unschedulable
	case "allocatable":
		node.Status.Allocatable = drawn.Status.Allocatable
	case "conditions":
		node.Status.Conditions = drawn.Status.Conditions
	case "images":
		node.Status.Images = drawn.Status.Images
	case "features":
		node.Status.DeclaredFeatures = drawn.Status.DeclaredFeatures
	case "annotations":
		node.Annotations = drawn.Annotations
	case "everything":
		*node = *drawn
	}
}

func (h *History) setPod(pod *corev1.Pod, how string) error {
	h.note("pod %s, on %q: %s", pod.UID, pod.Spec.NodeName, how)
	h.pods[pod.Name] = pod
	return set(h.cluster, pod)
}

// changePod adds, deletes or changes a pod. The node that it is on may not be known.
func (h *History) changePod() error {
	name := fmt.Sprintf("pod-%d", h.source.upTo(podNames-1))
	known := h.pods[name]
	if known == nil {
		return h.newPod(name)
	}
	if known.Spec.NodeName == "" {
		return h.bind(known, h.anyNode())
	}
	next, drawn := known.DeepCopy(), h.source.placed(name, known.Spec.NodeName)
	aspect := one(
		h.source, "delete", "delete", "finished", "labels", "labels", "resize", "resize", "annotations", "conditions", "terminating", "nothing",
	)
	switch aspect {
	case "delete":
		return h.deletePod(known)
	case "finished":
		next.Status.Phase = one(h.source, corev1.PodSucceeded, corev1.PodFailed)
	case "labels":
		next.Labels = drawn.Labels
	case "resize":
		ask(h.source, next)
		resize(h.source, next)
	case "annotations":
		next.Annotations = drawn.Annotations
	case "conditions":
		next.Status.Conditions = drawn.Status.Conditions
	case "terminating":
		terminate(next)
	}
	return h.setPod(next, aspect)
}

// newPod adds a pod, often one more of a class that is asked for. It waits for a place, or was placed by somebody else.
func (h *History) newPod(name string) error {
	pod, like := h.source.placed(name, h.anyNode()), h.source.chance(40)
	if like {
		alike := one(h.source, one(h.source, h.classes...)...)
		pod = alike.DeepCopy()
		pod.Name, pod.Spec.NodeName = name, h.anyNode()
	}
	h.born++
	pod.UID = types.UID(fmt.Sprintf("%s/%d", name, h.born))
	if like && hasOwnClaim(pod) || h.source.chance(40) {
		pod.Spec.NodeName, pod.Status, pod.DeletionTimestamp = "", corev1.PodStatus{Phase: corev1.PodPending}, nil
	}
	if like {
		h.alike[pod.UID] = pod.OwnerReferences[0].UID
		if err := h.makeClaim(pod); err != nil {
			return err
		}
	}
	return h.setPod(pod, "new")
}

func (h *History) bind(pod *corev1.Pod, node string) error {
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	return h.setPod(bound, "bound")
}

func (h *History) deletePod(pod *corev1.Pod) error {
	h.note("pod %s, on %q: deleted", pod.UID, pod.Spec.NodeName)
	delete(h.pods, pod.Name)
	if hasOwnClaim(pod) {
		if err := h.cluster.Delete(ownClaimOf(pod)); err != nil {
			return err
		}
	}
	return h.cluster.Delete(pod)
}

func (h *History) anyNode() string { return nodeName(h.source.upTo(mostNodes - 1)) }

// assume makes a pod that waits count on a node, or ends that it does: by a release, by the news that it was bound,
// there or elsewhere, or was deleted.
func (h *History) assume() error {
	var waiting []*corev1.Pod
	for _, name := range slices.Sorted(maps.Keys(h.pods)) {
		if h.pods[name].Spec.NodeName == "" {
			waiting = append(waiting, h.pods[name])
		}
	}
	if len(waiting) == 0 {
		return h.newPod(fmt.Sprintf("pod-%d", h.source.upTo(podNames-1)))
	}
	pod := one(h.source, waiting...)
	assumed := h.cluster.Assumed(pod.UID)
	switch {
	case assumed == "" || h.source.chance(20):
		snap := h.cluster.Snapshot()
		node := snap.NodeByName(h.anyNode())
		if node == nil {
			return nil
		}
		h.note("pod %s: assumed on %s", pod.UID, node.Name)
		return h.cluster.AssumeAll([]*cluster.Pod{h.cluster.PendingPod(pod.UID)}, node)
	case h.source.chance(40):
		return h.bind(pod, assumed)
	case h.source.chance(25):
		return h.bind(pod, h.anyNode())
	case h.source.chance(30):
		return h.deletePod(pod)
	default:
		h.note("pod %s: released from %s", pod.UID, assumed)
		h.cluster.Release(pod.UID)
		return nil
	}
}

// changeObject adds, changes or deletes an object of one kind. Drawing it again changes it, since there are few
// names.
func (h *History) changeObject() error {
	objects := h.source.objects()
	kinds := objects.kinds()
	if h.source.chance(70) {
		for i := range kinds {
			kinds[i].objects = slices.DeleteFunc(kinds[i].objects, func(object runtime.Object) bool { return !h.concerns(object) })
		}
	}
	kinds = slices.DeleteFunc(kinds, func(kind kind) bool { return len(kind.objects) == 0 })
	if len(kinds) == 0 {
		return nil
	}
	object := one(h.source, one(h.source, kinds...).objects...)
	metadata, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	how := one(h.source, "set", "set", "delete")
	h.note("%s %T %s/%s", how, object, metadata.GetNamespace(), metadata.GetName())
	if how == "delete" {
		return h.cluster.Delete(object)
	}
	return set(h.cluster, object)
}

// concerns reports whether a class that is asked for may look at an object of this name.
func (h *History) concerns(object runtime.Object) bool {
	named, _ := object.(metav1.Object)
	return slices.ContainsFunc(h.classes, func(class []*cluster.Pod) bool {
		pod := class[0]
		switch object.(type) {
		case *corev1.Namespace:
			return named.GetName() == pod.Namespace
		case *corev1.Service:
			return named.GetNamespace() == pod.Namespace
		case *corev1.PersistentVolumeClaim:
			return named.GetNamespace() == pod.Namespace && uses(pod.Pod, named.GetName())
		case *corev1.ReplicationController, *appsv1.ReplicaSet, *appsv1.StatefulSet:
			return named.GetNamespace() == pod.Namespace && named.GetName() == pod.OwnerReferences[0].Name
		}
		return true
	})
}
