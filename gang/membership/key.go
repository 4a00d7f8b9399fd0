package membership

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Key tells one group from another. Groups of one name under different labels are not the
// same.
type Key struct {
	Label string // that makes pods its members, or Koordinator's annotation that does, or the kind of its owner
	types.NamespacedName
}

// unseen begins the name of the group of a pod whose owner has not been seen yet.
const unseen = "?/"

// Left reports whether a pod is left to kube-scheduler, as it names a group of Kubernetes' own that muster does not serve
// (spec.schedulingGroup): it is of no gang, has no place kept, and is not moved by itself.
func Left(pod *cluster.Pod) bool {
	return pod.Spec.SchedulingGroup != nil && pod.Affiliation.Kind == ""
}

// Of returns the group that a pod is of: by its own marks, else by its owners, or by the object that it names. It reports
// false for a pod of none, and for one that is [Left]. A pod whose owner has not been seen yet is of a group of its own, and
// nobody says what is asked of that.
func Of(pod *cluster.Pod) (key Key, member bool) {
	if key, member := Marked(pod.Pod); member || Left(pod) {
		return key, member
	}
	belongs := &pod.Affiliation
	switch {
	case belongs.Gang != "":
		return Key{belongs.Kind, types.NamespacedName{Namespace: pod.Namespace, Name: belongs.Gang}}, true
	case belongs.Unseen:
		return Key{belongs.Kind, types.NamespacedName{Namespace: pod.Namespace, Name: unseen + pod.Name}}, true
	}
	return Key{}, false
}

// Marked returns the group that a pod's own marks name. They do not count for one that names a group of Kubernetes' own.
func Marked(pod *corev1.Pod) (key Key, member bool) {
	if pod.Spec.SchedulingGroup != nil {
		return Key{}, false
	}
	mark, name, member := v1alpha1.GroupOf(pod.Labels, pod.Annotations)
	if !member {
		return Key{}, false
	}
	return Key{mark, types.NamespacedName{Namespace: pod.Namespace, Name: name}}, true
}

// Object returns the PodGroup of a group, nil when there is none.
func Object(snap *cluster.Snapshot, key Key) *v1alpha1.Observed {
	apiGroup := v1alpha1.APIGroupOf(key.Label)
	if apiGroup == "" {
		return nil
	}
	object, _ := snap.Custom(v1alpha1.ResourceOf(apiGroup)).Get(key.NamespacedName)
	return object
}
