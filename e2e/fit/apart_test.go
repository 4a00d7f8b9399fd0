package fit_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/workload"
)

func TestApart(t *testing.T) {
	var nodes []*corev1.Node
	for i, zone := range []string{"a", "a", "b", "b"} {
		name := fmt.Sprintf("node-%d", i)
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: zone,
		}}})
	}
	for name, test := range map[string]struct {
		on     []int // the nodes of pods of one Deployment, which keep apart; -1 for none
		change func(pods []*corev1.Pod)
		err    string
	}{
		"pods that keep apart":                {on: []int{0, 2, 3}},
		"two on a node":                       {on: []int{0, 0, 2}, err: "anti-affinity"},
		"two in a zone and none in the other": {on: []int{0, 1}, err: "zone: map[a:2 b:0]"},
		"a pending pod is nowhere":            {on: []int{0, -1, -1}},
		"a finished pod is nowhere": {
			on: []int{0, 0}, change: func(pods []*corev1.Pod) { pods[1].Status.Phase = corev1.PodSucceeded },
		},
		"pods of two Deployments may share a node":    {on: []int{0, 0}, change: relabel},
		"pods of two namespaces may share a node":     {on: []int{0, 0}, change: func(pods []*corev1.Pod) { pods[1].Namespace = "other" }},
		"a pod that must avoid others and not itself": {on: []int{0, 0}, change: avoid, err: "pod pod-00000 on node node-0"},
		"a skew that is only a wish": {on: []int{0, 1}, change: func(pods []*corev1.Pod) {
			for _, p := range pods {
				p.Spec.TopologySpreadConstraints[0].WhenUnsatisfiable = corev1.ScheduleAnyway
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pods := workload.Backlog(len(test.on), 1)
			for i, p := range pods {
				workload.KeepApart(p)
				if test.on[i] >= 0 {
					p.Spec.NodeName = nodes[test.on[i]].Name
				}
			}
			if test.change != nil {
				test.change(pods)
			}
			switch err := fit.Apart(nodes, pods); {
			case test.err == "" && err != nil:
				t.Errorf("error %q, want none", err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v, want it to contain %q", err, test.err)
			}
		})
	}
}

// relabel makes the second pod one of another Deployment.
func relabel(pods []*corev1.Pod) {
	pods[1].Labels = map[string]string{"app": "other"}
	workload.KeepApart(pods[1])
}

// avoid makes the first pod alone avoid the second, and not its own kind.
func avoid(pods []*corev1.Pod) {
	pods[1].Spec = corev1.PodSpec{NodeName: pods[1].Spec.NodeName}
	pods[1].Labels = map[string]string{"app": "other"}
	avoided := &metav1.LabelSelector{MatchLabels: pods[1].Labels}
	pods[0].Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[0].LabelSelector = avoided
}
