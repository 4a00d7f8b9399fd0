// Package native has the pods start together that name one of Kubernetes' own PodGroups.
package native

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

// Kind returns the PodGroups of scheduling.k8s.io. Pods of one have the priority that it has, as the API asks.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindKubernetesPodGroup,
		Groups: []operators.Resource{{
			GroupVersionResource: schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"},
			Kind:                 "PodGroup", Older: []string{"v1alpha2"}, BuiltIn: true,
		}},
		Names:  name,
		Native: true,
		Asks:   asks,
	}
}

func name(pod *corev1.Pod) string {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return *group.PodGroupName
	}
	return ""
}

// asks says what a group asks for. kube-scheduler writes a condition on each group that it has tried as one, so its feature gates
// are on and it starts the group itself.
func asks(group operators.Object) cluster.Asks {
	switch {
	case group.Has("spec", "schedulingConstraints", "topology"):
		return cluster.Asks{Left: "it asks for a topology, which muster does not read"}
	case group.Has("spec", "parentCompositePodGroupName"):
		return cluster.Asks{Left: "it has a parent, which muster does not read"}
	case !group.Has("spec", "schedulingPolicy", "gang"):
		return operators.Alone("its policy is not gang")
	}
	asks := operators.Whole(group.Number(1, "spec", "schedulingPolicy", "gang", "minCount"))
	asks.Assisted = slices.ContainsFunc(group.Items("status", "conditions"), ofScheduler)
	return asks
}

// ofScheduler reports whether a condition is the one that kube-scheduler writes on groups that it has tried. It was
// PodGroupScheduled up to 1.36.
func ofScheduler(condition operators.Object) bool {
	name := condition.Text("type")
	return name == "PodGroupInitiallyScheduled" || name == "PodGroupScheduled"
}
