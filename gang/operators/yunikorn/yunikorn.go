// Package yunikorn has the pods of a task group of YuniKorn start together. YuniKorn itself makes placeholder pods for all
// task groups of an application; here each starts by itself, as pods of another one may make its pods.
package yunikorn

import (
	"cmp"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

const (
	groupOf = "yunikorn.apache.org/task-group-name"
	groups  = "yunikorn.apache.org/task-groups"
	// mostBytes is how long a text of task groups may be that is read: it is read each time that anybody asks about the pod.
	mostBytes = 1 << 14
	// mostGroups is how many task groups an application may have.
	mostGroups = 100
)

// application are the labels and annotations that name the application of a pod, the first of them first.
func application(pod *corev1.Pod) string {
	return cmp.Or(pod.Labels["yunikorn.apache.org/app-id"], pod.Annotations["yunikorn.apache.org/app-id"],
		pod.Labels["applicationId"], pod.Labels["spark-app-selector"])
}

// Kind returns task groups. What is asked for stands on the pod, or on the one that made it.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindYuniKorn, Through: []schema.GroupKind{operators.Pod},
		Marks: operators.Marks{Annotations: []string{groupOf}},
		Says: func(pod *corev1.Pod, controller *cluster.Owner) (operators.Said, bool) {
			role, name := pod.Annotations[groupOf], application(pod)
			if role == "" {
				return operators.Said{}, false
			}
			if len(name) > validation.LabelValueMaxLength || len(role) > validation.LabelValueMaxLength {
				return operators.Said{Asks: operators.Alone("its application, or its task group, has a name that is too long for a label")}, true
			}
			asks := read(pod.Annotations[groups])
			if asks.Silent() && controller != nil && controller.Kind() == operators.Pod {
				asks = controller.Asks
			}
			switch {
			case name == "":
				asks = operators.Alone("it names no application (label applicationId)")
			case asks.Silent():
				asks = operators.Alone("nobody says how large its task group " + role + " is (" + groups + ")")
			}
			return operators.Said{Name: name, Role: role, Asks: asks}, true
		},
	}
}

// read reads the annotation of task groups.
func read(text string) cluster.Asks {
	if text == "" {
		return cluster.Asks{}
	}
	var all []struct {
		Name      string `json:"name"`
		MinMember int32  `json:"minMember"`
	}
	if len(text) > mostBytes || json.Unmarshal([]byte(text), &all) != nil {
		return operators.Alone("its annotation " + groups + " cannot be read")
	}
	if len(all) > mostGroups {
		return operators.Alone(fmt.Sprintf("its annotation %s has %d groups, more than %d", groups, len(all), mostGroups))
	}
	asks := cluster.Asks{Apart: true}
	for _, one := range all {
		asks.Roles = append(asks.Roles, cluster.Role{Name: one.Name, Min: max(one.MinMember, 0), All: max(one.MinMember, 0)})
	}
	return asks
}
