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
	Label string // that makes pods its members, or Koordinator's annotation that does
	types.NamespacedName
}

// Of returns the group that a pod is of. It reports false for a pod of none, and for one of a
// PodGroup that kube-scheduler itself plans (spec.schedulingGroup).
func Of(pod *corev1.Pod) (key Key, member bool) {
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
