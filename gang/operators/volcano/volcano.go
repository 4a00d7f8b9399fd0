// Package volcano has the pods that name a PodGroup of Volcano start together.
package volcano

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

// Annotations that name the PodGroup of a pod. Volcano's own controllers write the first, others the second.
const (
	annotation      = "scheduling.k8s.io/group-name"
	otherAnnotation = "scheduling.volcano.sh/group-name"
)

// Kind returns PodGroups of Volcano.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindVolcano,
		Groups: []operators.Resource{{
			GroupVersionResource: schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "podgroups"},
			Kind:                 "PodGroup",
		}},
		Marks: operators.Marks{Annotations: []string{annotation, otherAnnotation}},
		Names: func(pod *corev1.Pod) string {
			return cmp.Or(pod.Annotations[annotation], pod.Annotations[otherAnnotation])
		},
		Asks: func(group operators.Object) cluster.Asks {
			least := group.Number(1, "spec", "minMember")
			return cluster.Asks{Roles: []cluster.Role{{Min: least, All: least}}}
		},
	}
}
