package workload

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Backlog makes pending pods of a number of controllers in turn, as if of Deployments, without
// creating anything for them. They ask for one to ten times 50m of CPU and 64Mi of memory, the same
// within a controller.
func Backlog(pods, controllers int) []*corev1.Pod {
	all := make([]*corev1.Pod, pods)
	for i := range all {
		number := i % controllers
		app := fmt.Sprintf("app-%d", number)
		size := float64(1 + number%10)
		all[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("pod-%05d", i), Namespace: Namespace,
				Labels:          map[string]string{"app": app},
				OwnerReferences: []metav1.OwnerReference{controller("apps/v1", "ReplicaSet", app)},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{container("main", 50*size, 64*size)}},
		}
	}
	return all
}

// Settle puts pods of a number of controllers on nodes, as if they had been there for long: one on
// a node, and each controller's in equal numbers in every zone. It leaves nodes of the larger zones
// empty.
func Settle(nodes []*corev1.Node, controllers int) []*corev1.Pod {
	byZone := map[string][]*corev1.Node{}
	for _, n := range nodes {
		zone := n.Labels[corev1.LabelTopologyZone]
		byZone[zone] = append(byZone[zone], n)
	}
	fewest := len(nodes)
	for _, zone := range byZone {
		fewest = min(fewest, len(zone))
	}
	perController := fewest / controllers
	pods := Backlog(perController*controllers*len(byZone), controllers)
	i := 0
	for _, zone := range slices.Sorted(maps.Keys(byZone)) {
		for _, n := range byZone[zone][:perController*controllers] {
			pods[i].Name, pods[i].Spec.NodeName = "settled-"+pods[i].Name, n.Name
			i++
		}
	}
	return pods
}

// KeepApart forbids the pod to share a node with another pod of the same labels, and to
// make their numbers in any two zones differ by more than one.
func KeepApart(p *corev1.Pod) {
	same := &metav1.LabelSelector{MatchLabels: p.Labels}
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname, LabelSelector: same}},
	}}
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: same,
	}}
}
