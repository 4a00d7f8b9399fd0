package extender_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// withPort has a pod take a port of its node.
func withPort(pod *corev1.Pod) {
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080}}
}

// apartBy keeps pods from sharing a domain with each other.
func apartBy(topology string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Labels = map[string]string{"app": "apart"}
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}, TopologyKey: topology,
			}},
		}}
	}
}

// With offload kube-scheduler does not keep these pods apart.
func TestOffloadedPodsThatExcludeEachOtherAreKeptApart(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		apart  func(*corev1.Pod)
		domain string // each has at most one of the pods
		want   int    // pods that are bound
	}{
		"by a host port":                      {withPort, corev1.LabelHostname, 40},
		"by anti-affinity on a node":          {apartBy(corev1.LabelHostname), corev1.LabelHostname, 40},
		"by anti-affinity in a zone of nodes": {apartBy(corev1.LabelTopologyZone), corev1.LabelTopologyZone, 10},
	} {
		t.Run(name, func(t *testing.T) {
			lab.LongUnless(t, test.domain == corev1.LabelTopologyZone)
			const count = 40
			nodes := workload.NewNodes("node", count, "64")
			domains := map[string]string{} // by node
			for i, node := range nodes {
				node.Labels = map[string]string{
					corev1.LabelHostname: node.Name, corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i/4),
				}
				domains[node.Name] = node.Labels[test.domain]
			}
			c := newCluster(t, nodes...)
			c.serveAndSchedule(muster.Options{Text: "profiles: [{offload: true, nodeSelection: Muster}]"})
			c.createPods(workload.NewPods("pod", count, "10m", test.apart)...)
			c.Eventually("a pod is bound in each domain, and the others are told that they fit nowhere", func() error {
				pods := c.Pods()
				in, refused := map[string]string{}, 0
				for _, pod := range pods {
					domain := domains[pod.Spec.NodeName]
					switch other := in[domain]; {
					case domain == "":
						if unschedulable(pod) {
							refused++
						}
						continue
					case other != "":
						t.Fatalf("%s and %s are both in %s", other, pod.Name, domain)
					}
					in[domain] = pod.Name
				}
				if len(in) != test.want || refused != count-test.want {
					return fmt.Errorf("%d of %d pods are bound, and %d are refused", len(in), test.want, refused)
				}
				return nil
			})
		})
	}
}
