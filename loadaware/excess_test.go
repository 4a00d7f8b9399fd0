package loadaware

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

func inNamespace(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Namespace = name }
}

// unrun is a pod that its creator has put on a node, and that nobody has seen run.
func unrun(p *corev1.Pod) { p.Status = corev1.PodStatus{} }

// alike are pods of a namespace that differ in their names.
func alike(count int, namespace string, change ...func(*corev1.Pod)) (pods []*corev1.Pod) {
	for i := range count {
		pods = append(pods, podObject(fmt.Sprint(namespace, i), append(change, inNamespace(namespace))...))
	}
	return pods
}

// TestWhatANamespaceIsEstimatedToUseBeyondItsRequestsCountsForOthersInPart has a node of 10 CPUs, so that a namespace has
// 1,000m for others to see, thresholds of 6,500m, and a pod that adds 850m.
func TestWhatANamespaceIsEstimatedToUseBeyondItsRequestsCountsForOthersInPart(t *testing.T) {
	huge := []func(*corev1.Pod){asking("cpu", "1m", "memory", "1"), limitedTo("cpu", "1000000"), unrun}
	nothing := []func(*corev1.Pod){asking(), unrun, ofClass("koord-prod")}
	vast := []func(*corev1.Pod){ofClass("koord-batch"), asking("kubernetes.io/batch-cpu", "1000000000"), unrun}
	pod := podObject("new", ofClass("koord-prod"))
	const (
		small = "usageThresholds: {cpu: 65}\n"
		prod  = small + "prodUsageThresholds: {cpu: 65}\nscoreAccordingProdUsage: true"
		p95   = `
aggregated:
  usageThresholds: {cpu: 65}
  usageAggregationType: p95
  usageAggregatedDuration: 10m`
	)
	tests := []struct {
		name  string
		scene scene
		want  string
	}{
		// 4,638m + eleven of 1m + 1,000m + 850m.
		{
			"limits of pods that request next to nothing: below",
			scene{args: small, usage: using("4638m", "0"), pods: alike(11, "tenant", huge...), pod: pod},
			"",
		},
		{
			"limits of pods that request next to nothing: reached",
			scene{args: small, usage: using("4639m", "0"), pods: alike(11, "tenant", huge...), pod: pod},
			cpuExceeds,
		},
		{
			"for pods of the namespace they count in full",
			scene{args: small, usage: using("0", "0"), pods: alike(1, "tenant", huge...), pod: podObject("new", inNamespace("tenant"))},
			cpuExceeds,
		},
		{
			"a burst of a namespace is kept apart as ever: below", // 22 of 250m, and 850m
			scene{args: small, usage: using("0", "0"), pods: alike(22, "default", nothing...), pod: pod}, "",
		},
		{
			"a burst of a namespace is kept apart as ever: reached",
			scene{args: small, usage: using("0", "0"), pods: alike(23, "default", nothing...), pod: pod},
			cpuExceeds,
		},
		{
			"pods that request nothing: below",
			scene{args: small, usage: using("4649m", "0"), pods: alike(110, "tenant", nothing...), pod: pod},
			"",
		},
		{
			"pods that request nothing: reached",
			scene{args: small, usage: using("4650m", "0"), pods: alike(110, "tenant", nothing...), pod: pod},
			cpuExceeds,
		},
		{
			"each namespace has its part: below",
			scene{
				args: small, usage: using("3649m", "0"), pods: append(alike(20, "one", nothing...), alike(20, "two", nothing...)...), pod: pod,
			},
			"",
		},
		{
			"each namespace has its part: reached",
			scene{
				args: small, usage: using("3650m", "0"), pods: append(alike(20, "one", nothing...), alike(20, "two", nothing...)...), pod: pod,
			},
			cpuExceeds,
		},
		// 85 % of 2 CPUs are charged each, and 85 % of what the limit has beside are not: 3,400m + 1,000m + 850m.
		{
			"requests count for everybody: below",
			scene{
				args: small, usage: using("1249m", "0"), pod: pod,
				pods: alike(2, "tenant", asking("cpu", "2", "memory", "1"), limitedTo("cpu", "8"), unrun),
			},
			"",
		},
		{
			"requests count for everybody: reached",
			scene{
				args: small, usage: using("1250m", "0"), pod: pod,
				pods: alike(2, "tenant", asking("cpu", "2", "memory", "1"), limitedTo("cpu", "8"), unrun),
			},
			cpuExceeds,
		},
		{
			"requests of what the node does not offer are none: below",
			scene{args: small, usage: using("4649m", "0"), pods: alike(3, "tenant", vast...), pod: pod},
			"",
		},
		{
			"requests of what the node does not offer are none: reached",
			scene{args: small, usage: using("4650m", "0"), pods: alike(3, "tenant", vast...), pod: pod},
			cpuExceeds,
		},
		{
			"a factor of its own raises no request above what it is",
			scene{
				args: small + customized, usage: using("2649m", "0"), pod: pod,
				pods: alike(2, "tenant", asking("cpu", "1", "memory", "1"), annotated(factorsAnnotation, `{"cpu": 1000000}`), unrun),
			},
			"",
		},
		{
			"pods of class prod beside one another: below",
			scene{args: prod, usage: using("0", "0", bySystem("0", "0")), pods: alike(110, "tenant", nothing...), pod: pod},
			"",
		},
		{
			"pods of class prod of the same namespace: reached",
			scene{args: prod, usage: using("0", "0"), pods: alike(26, "default", nothing...), pod: pod},
			cpuExceeds,
		},
		{
			"estimates that stand in for a statistic: below",
			scene{args: p95, usage: using("9", "0"), pods: alike(11, "tenant", huge...), pod: pod},
			"",
		},
		{
			"estimates that stand in for a statistic, of the same namespace: reached",
			scene{args: p95, usage: using("9", "0"), pods: alike(1, "default", huge...), pod: pod},
			aggregatedCPUExceeds,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := test.scene.raise(t)
			verdict := r.profile.Judge(r.pod, r.cluster.Snapshot()).Verdict(r.node)
			if got := r.profile.Reason(verdict, r.pod); got != test.want {
				t.Errorf("reason %q, want %q", got, test.want)
			}
			e := r.load.Explain(r.node, r.pod)
			if e.Reason != test.want {
				t.Errorf("explained by %q, want %q", e.Reason, test.want)
			}
			if reached := e.Filter.Estimate["cpu"] >= 6500; reached != (test.want != "") {
				t.Errorf("the explanation has an estimate of %dm", e.Filter.Estimate["cpu"])
			}
			for _, p := range e.Pods {
				if p.Estimate["cpu"] > 10_000 {
					t.Errorf("pod %s is estimated to use %dm of a node of 10 CPUs", p.Name, p.Estimate["cpu"])
				}
			}
		})
	}
}

func TestTheScoreOfANodeIsNotForOneNamespaceToSpoil(t *testing.T) {
	r := scene{
		args: "resourceWeights: {cpu: 1}", usage: using("2", "0"), pod: podObject("new"),
		pods: alike(11, "tenant", asking("cpu", "1m", "memory", "1"), limitedTo("cpu", "1000000"), unrun),
	}.raise(t)
	// 10,000m less 2,000m, eleven of 1m, 1,000m and 850m.
	for namespace, want := range map[string]int64{"default": 61, "tenant": 0} {
		e := r.load.Explain(r.node, r.newPod(podObject("new", inNamespace(namespace))))
		if e.Score != want {
			t.Errorf("for a pod of namespace %s the score is %d, want %d", namespace, e.Score, want)
		}
		if diff := cmp.Diff([]string{"tenant"}, e.Bounded); diff != "" {
			t.Errorf("bounded namespaces (-want +got):\n%s", diff)
		}
	}
}

// TestAMetersEstimatesAddUpOverPods has pods that no namespace sees all of: the expected use of a node without
// one of them is that much less.
func TestAMetersEstimatesAddUpOverPods(t *testing.T) {
	meter, r := metered(t, scene{
		node: []func(*corev1.Node){offering("cpu", "10", "memory", "10Gi")}, usage: using("2", "1Gi"),
		pods: alike(3, "tenant", asking("cpu", "1m"), limitedTo("cpu", "1000000"), unrun),
	})
	measured, known := meter.Node(r.node)
	if !known {
		t.Fatal("the node is not measured")
	}
	var sum int64
	for _, pod := range r.node.Pods {
		sum += meter.Pod(pod, r.node)[0]
	}
	if want := measured.Used[0] + sum; measured.Expected[0] != want || sum != 30_000 {
		t.Errorf("expected are %dm, and the pods add %dm to %dm, want 30000m of pods", measured.Expected[0], sum, measured.Used[0])
	}
}

func TestPodsThatAreExpectedCountAsThoseThatAreThereForOtherNamespacesToo(t *testing.T) {
	r := scene{args: "usageThresholds: {cpu: 65}", usage: using("4638m", "0")}.raise(t)
	for _, pod := range alike(11, "tenant", asking("cpu", "1m", "memory", "1"), limitedTo("cpu", "1000000")) {
		coming := cluster.NewPod(pod)
		r.cluster.Expect(coming, "node")
		defer r.cluster.Release(coming.UID)
	}
	node := r.cluster.Snapshot().NodeByName("node")
	for cpu, want := range map[string]string{"1": "", "1010m": cpuExceeds} { // 850m, 859m
		if got := r.load.Explain(node, r.newPod(podObject("new", asking("cpu", cpu)))).Reason; got != want {
			t.Errorf("a pod of %s CPUs is refused by %q, want %q", cpu, got, want)
		}
	}
}

// BenchmarkAccountOfANode sums up a node of 110 pods that are all just scheduled, with limits beyond their requests.
func BenchmarkAccountOfANode(b *testing.B) {
	r := scene{
		usage: using("2", "3000"), pods: alike(110, "tenant", limitedTo("cpu", "2"), became(corev1.PodScheduled, time.Second)),
	}.raise(b)
	custom := r.load.of(r.node).custom
	for b.Loop() {
		r.load.account(r.node, custom, nil)
	}
}
