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
		Asks:  asks,
	}
}

// asks says what a PodGang asks for: pods of each PodClique, and one domain for all, for the PodCliques of a group, and for each.
func asks(gang operators.Object) (asks cluster.Asks) {
	asks.Network = network(gang.Object("spec"))
	within := withinOf(gang)
	for _, group := range gang.Items("spec", "podgroups") {
		least, name := group.Number(1, "minReplicas"), group.Text("name")
		pods := max(least, int32(min(len(group.Items("podReferences")), 1<<20)))
		asks.Roles = append(asks.Roles, cluster.Role{Name: name, Min: least, All: pods, Network: network(group), Within: within[name]})
	}
	return asks
}

// withinOf returns what PodCliques share with others, by their names.
func withinOf(gang operators.Object) map[string][]cluster.Common {
	within := map[string][]cluster.Common{}
	for _, config := range gang.Items("spec", "topologyConstraintGroupConfigs") {
		of := network(config)
		if len(of) == 0 {
			continue
		}
		common := cluster.Common{Name: gang.Text("metadata", "name") + "/" + config.Text("name"), Network: of}
		for _, name := range config.Texts("podGroupNames") {
			if within[name] == nil { // Grove has a PodClique in no more than one
				within[name] = []cluster.Common{common}
			}
		}
	}
	return within
}

// network returns what is asked for by what has a topologyConstraint. The operator has written keys of labels there for the names of
// levels.
func network(what operators.Object) (of map[string]string) {
	pack := what.Object("topologyConstraint", "packConstraint")
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
	if _, prefers := of[v1alpha1.AnnotationPreferredTopology]; prefers {
		of[v1alpha1.AnnotationTopologyWaitFor] = "0s" // as Grove's backends have it
	}
	return of
}
