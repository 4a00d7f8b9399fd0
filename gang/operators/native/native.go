// Package native has the pods start together that name one of Kubernetes' own PodGroups.
package native

import (
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
// are on: it starts the group itself, and once it has, it places pods of it one by one.
func asks(group operators.Object) cluster.Asks {
	switch {
	case !group.Has("spec", "schedulingPolicy", "gang"):
		return operators.Alone("its policy is not gang")
	case group.Has("spec", "schedulingConstraints", "topology"):
		return cluster.Asks{Left: "it asks for a topology, which muster does not read"}
	case group.Has("spec", "parentCompositePodGroupName"):
		return cluster.Asks{Left: "it has a parent, which muster does not read"}
	}
	asks := operators.Whole(group.Number(1, "spec", "schedulingPolicy", "gang", "minCount"))
	condition, tried := tried(group)
	asks.Assisted, asks.Started = tried, condition.Text("status") == "True"
	return asks
}

// tried returns the condition that kube-scheduler writes on groups that it has tried, if there is one. It was PodGroupScheduled
// up to 1.36.
func tried(group operators.Object) (condition operators.Object, found bool) {
	for _, condition := range group.Items("status", "conditions") {
		switch condition.Text("type") {
		case "PodGroupInitiallyScheduled", "PodGroupScheduled":
			return condition, true
		}
	}
	return operators.Object{}, false
}
