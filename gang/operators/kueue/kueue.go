// Package kueue has the pods of a plain group of Kueue start together, once Kueue has admitted them.
package kueue

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

const (
	labelGroup = "kueue.x-k8s.io/pod-group-name"
	total      = "kueue.x-k8s.io/pod-group-total-count"
	serving    = "kueue.x-k8s.io/pod-group-serving"
	parent     = "kueue.x-k8s.io/pod-suspending-parent"
)

// Kind returns plain groups of pods. Kueue makes such groups of the pods of others as well, a LeaderWorkerSet among them:
// those say what their owners ask for.
func Kind() operators.Kind {
	return operators.Kind{Name: config.GangKindKueue, Label: labelGroup, Says: func(pod *corev1.Pod, _ *cluster.Owner) (operators.Said, bool) {
		name, annotations := pod.Labels[labelGroup], pod.Annotations
		if name == "" || annotations[serving] != "" || annotations[parent] != "" {
			return operators.Said{}, false
		}
		pods, err := strconv.ParseInt(annotations[total], 10, 32)
		if err != nil || pods < 1 {
			return operators.Said{Name: name, Asks: operators.Alone("its annotation " + total + " is no number from 1 on")}, true
		}
		return operators.Said{Name: name, Asks: operators.Whole(int32(pods))}, true
	}}
}
