// Package grove has the pods of a PodGang of Grove start together: enough of each of its PodCliques.
package grove

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

const (
	labelGang   = "grove.io/podgang"
	labelClique = "grove.io/podclique"
)

// Kind returns PodGangs.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindGrove,
		Groups: []operators.Resource{{
			GroupVersionResource: schema.GroupVersionResource{Group: "scheduler.grove.io", Version: "v1alpha1", Resource: "podgangs"},
			Kind:                 "PodGang",
		}},
		Marks: operators.Marks{Labels: []string{labelGang}},
		Names: func(pod *corev1.Pod) string { return pod.Labels[labelGang] },
		Place: operators.Labelled(labelClique),
		Asks: func(gang operators.Object) (asks cluster.Asks) {
			for _, group := range gang.Items("spec", "podgroups") {
				least := group.Number(1, "minReplicas")
				pods := max(least, int32(min(len(group.Items("podReferences")), 1<<20)))
				asks.Roles = append(asks.Roles, cluster.Role{Name: group.Text("name"), Min: least, All: pods})
			}
			return asks
		},
	}
}
