// Package grove has the pods of a PodGang of Grove start together: enough of each of its PodCliques.
package grove

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
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
			asks.Network = network(gang.Object("spec", "topologyConstraint", "packConstraint"))
			return asks
		},
	}
}

// network returns what a PodGang asks for as a whole. The operator has written keys of labels there for the names of levels.
func network(pack operators.Object) (of map[string]string) {
	for field, annotation := range map[string]string{
		"required": v1alpha1.AnnotationRequiredTopology, "preferred": v1alpha1.AnnotationPreferredTopology,
	} {
		if key := pack.Text(field); key != "" {
			if of == nil {
				of = map[string]string{}
			}
			of[annotation] = key
		}
	}
	return of
}
