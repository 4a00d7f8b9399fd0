// Package native has the pods start together that name one of Kubernetes' own PodGroups.
package native

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

// Kind returns the PodGroups of scheduling.k8s.io, and the CompositePodGroups that have them start together. Pods of one have
// the priority that it has, as the API asks.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindKubernetesPodGroup,
		Groups: []operators.Resource{
			{
				GroupVersionResource: schema.GroupVersionResource{Group: composite.Group, Version: "v1beta1", Resource: "podgroups"},
				Kind:                 "PodGroup", Older: []string{"v1alpha2"}, BuiltIn: true,
			},
			{
				GroupVersionResource: schema.GroupVersionResource{Group: composite.Group, Version: "v1alpha3", Resource: "compositepodgroups"},
				Kind:                 composite.Kind, BuiltIn: true,
			},
		},
		Names:  name,
		Native: true,
		Asks:   asks,
	}
}

// composite is the kind of groups of groups.
var composite = schema.GroupKind{Group: "scheduling.k8s.io", Kind: "CompositePodGroup"} //nolint:gochecknoglobals // it never changes

func name(pod *corev1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return *group.PodGroupName
	}
	return ""
}

// asks says what a group asks for, or a group of groups. kube-scheduler writes a condition on each that it has tried as one, so
// its feature gates are on and it starts the group itself.
func asks(group operators.Object) (asks cluster.Asks) {
	parent := group.Text("spec", "parentCompositePodGroupName")
	gang := group.Has("spec", "schedulingPolicy", "gang")
	asks.Assisted = slices.ContainsFunc(group.Items("status", "conditions"), ofScheduler)
	key, left := topology(group)
	switch {
	case left != "":
		return cluster.Asks{Left: left}
	case group.Text("kind") == composite.Kind && gang:
		asks.Groups = max(1, group.Number(1, "spec", "schedulingPolicy", "gang", "minGroupCount"))
	case group.Text("kind") == composite.Kind:
	case gang:
		asks.Roles = operators.Whole(group.Number(1, minCount()...)).Roles
	default:
		asks.Alone = "its policy is not gang"
	}
	if key != "" {
		asks.Network = map[string]string{v1alpha1.AnnotationRequiredTopology: key}
	}
	if parent != "" {
		asks.Parent = cluster.GroupReference{GroupKind: composite, Name: parent}
	}
	return asks
}

// topology returns the key of a label, "" for none: all pods of a group go to nodes with one value of it. Or it says why the group is
// left to kube-scheduler.
func topology(group operators.Object) (key, left string) {
	constraints := group.Items("spec", "schedulingConstraints", "topology")
	if len(constraints) == 0 {
		return "", ""
	}
	key = constraints[0].Text("key")
	switch {
	case len(constraints) != 1 || key == "":
		return "", "it asks for a topology in a way that muster does not know"
	case group.Text("kind") == composite.Kind && !group.Has("spec", "schedulingPolicy", "gang"):
		return "", "it asks for a topology, and the groups in it do not start together"
	case group.Text("kind") == composite.Kind:
		return key, ""
	case group.Number(0, minCount()...) < 2:
		return "", "it asks for a topology, and its pods do not start together"
	}
	return key, ""
}

// minCount is where a group says how many of its pods start together.
func minCount() []string { return []string{"spec", "schedulingPolicy", "gang", "minCount"} }

// ofScheduler reports whether a condition is one that kube-scheduler writes on groups that it has tried. That of a PodGroup was
// PodGroupScheduled up to 1.36.
func ofScheduler(condition operators.Object) bool {
	switch condition.Text("type") {
	case "PodGroupInitiallyScheduled", "PodGroupScheduled", "CompositePodGroupInitiallyScheduled":
		return true
	}
	return false
}
