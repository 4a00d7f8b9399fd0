package server

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/cluster"
)

func TestTheNominatorPlacesWhoIsOfNoGroup(t *testing.T) {
	ofKubernetesOwn := func(pod *corev1.Pod) { pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} }
	for name, test := range map[string]struct {
		change  func(*corev1.Pod)
		belongs cluster.Affiliation
		want    bool
	}{
		"of none":           {func(*corev1.Pod) {}, cluster.Affiliation{}, true},
		"of a gang":         {func(*corev1.Pod) {}, cluster.Affiliation{Kind: "JobSet", Gang: "g"}, false},
		"left to scheduler": {ofKubernetesOwn, cluster.Affiliation{}, false},
		"basic":             {ofKubernetesOwn, cluster.Affiliation{Kind: "KubernetesPodGroup"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"}}
			test.change(object)
			pod := cluster.NewPod(object)
			pod.Affiliation = test.belongs
			if got := !notAlone(pod); got != test.want {
				t.Errorf("it is placed for itself: %t, want %t", got, test.want)
			}
		})
	}
}
