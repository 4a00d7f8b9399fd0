// Package leaderworkerset has each replica of a LeaderWorkerSet start together: a leader with its workers.
package leaderworkerset

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

const (
	labelName  = "leaderworkerset.sigs.k8s.io/name"
	labelGroup = "leaderworkerset.sigs.k8s.io/group-index"
	exclusive  = "leaderworkerset.sigs.k8s.io/exclusive-topology"
)

// Kind returns LeaderWorkerSets.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindLeaderWorkerSet,
		Owners: []operators.Resource{{
			GroupVersionResource: schema.GroupVersionResource{Group: "leaderworkerset.x-k8s.io", Version: "v1", Resource: "leaderworkersets"},
			Kind:                 "LeaderWorkerSet",
		}},
		Through: []schema.GroupKind{operators.StatefulSet, operators.Pod},
		Marks:   operators.Marks{Labels: []string{labelName}},
		Asks:    asks,
		Place:   func(pod *corev1.Pod) (instance, role string) { return pod.Labels[labelGroup], "" },
		Dress:   dress,
		Copies:  copies,
	}
}

func asks(set operators.Object) cluster.Asks {
	switch {
	case set.Text("spec", "startupPolicy") == "LeaderReady":
		return operators.Alone("makes its workers once their leader is ready (startupPolicy: LeaderReady)")
	case set.Annotation(exclusive) != "":
		return operators.Alone("places each replica exclusively (" + exclusive + "): its workers are made once their leader has a node")
	}
	asks := operators.Whole(set.Number(1, "spec", "leaderWorkerTemplate", "size"))
	asks.Instances = true
	return asks
}

// dress returns the labels of a pod of a replica.
func dress(set operators.Object, of *operators.Template, number int32) map[string]string {
	replicas := max(set.Number(1, "spec", "replicas"), 1)
	group := number / max(of.Pods/replicas, 1)
	return map[string]string{labelName: set.Text("metadata", "name"), labelGroup: strconv.Itoa(int(group))}
}

// copies counts the pods of a replica: workers beside a leader, or in its place where that has no template.
func copies(part operators.Object, field string) int32 {
	size := part.Number(1, "size")
	switch {
	case field == "leaderTemplate":
		return 1
	case field != "workerTemplate":
		return operators.Copies(part, field)
	case part.Has("leaderTemplate"):
		return max(size-1, 0)
	}
	return size
}
