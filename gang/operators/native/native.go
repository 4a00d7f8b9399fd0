// Package native has the pods start together that name one of Kubernetes' own PodGroups.
package native

import (
	"fmt"

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

func asks(group operators.Object) cluster.Asks {
	if condition := planned(group); condition != "" {
		return cluster.Asks{Left: fmt.Sprintf("it has the condition %s, so the feature gates of kube-scheduler are on", condition)}
	}
	if !group.Has("spec", "schedulingPolicy", "gang") {
		return operators.Alone("its policy is not gang")
	}
	return operators.Whole(group.Number(1, "spec", "schedulingPolicy", "gang", "minCount"))
}

// planned returns the condition that kube-scheduler writes on groups that it plans, "" where it has written none. It was
// PodGroupScheduled up to 1.36.
func planned(group operators.Object) string {
	for _, condition := range group.Items("status", "conditions") {
		switch condition.Text("type") {
		case "PodGroupInitiallyScheduled", "PodGroupScheduled":
			return condition.Text("type")
		}
	}
	return ""
}
