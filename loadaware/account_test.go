package loadaware

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// TestSums has a node that uses 2 CPUs and 3,000 bytes, 0.2 CPUs and 300 bytes of that by itself.
//
//	                estimate     reported     counts
//	prod-shown      850m, 700    1000m, 100   no
//	prod-new        850m, 700    100m, 900    yes: 750m, 0
//	prod-unknown    850m, 700                 yes: 850m, 700
//	batch-new       250m, 7      50m, 2       yes: 200m, 5
//
// So delta is 1,800m and 705. Of class prod alone, 1,100m and 1,000 are reported, and delta is
// 1,600m and 700. The estimates, none below what is reported, are 1,000m, 700; 850m, 900; 850m,
// 700; 250m, 7: 2,950m and 2,307 together.
func TestSums(t *testing.T) {
	within := became(corev1.PodScheduled, 0)
	pods := func() []*corev1.Pod {
		return []*corev1.Pod{
			podObject("prod-shown", ofClass("koord-prod")),
			podObject("prod-new", ofClass("koord-prod"), within),
			podObject("prod-unknown", ofClass("koord-prod")),
			podObject("batch-new", ofClass("koord-batch"), within, asking("kubernetes.io/batch-memory", "10")),
		}
	}
	figures := func(more ...figure) func() *cluster.Usage {
		return using("2", "3000", append([]figure{
			bySystem("200m", "300"),
			byPodOf("koord-prod", "prod-shown", "1", "100"),
			byPodOf("koord-prod", "prod-new", "100m", "900"),
			byPodOf("koord-batch", "batch-new", "50m", "2"),
		}, more...)...)
	}
	sum := func(of string, base, delta Amounts) Sum {
		return Sum{
			Of:       of,
			Base:     base,
			Delta:    delta,
			Estimate: Amounts{"cpu": base["cpu"] + delta["cpu"], "memory": base["memory"] + delta["memory"]},
		}
	}
	two := func(cpu, memory int64) Amounts { return Amounts{"cpu": cpu, "memory": memory} }
	node := sum("node", two(2000, 3000), two(1800, 705))
	prods := sum("pods of class prod", two(1100, 1000), two(1600, 700))
	asProd := podObject("new", ofClass("koord-prod"), asking("cpu", "0"))
	const (
		prodThreshold = "prodUsageThresholds: {cpu: 50}\n"
		statistics    = `
aggregated:
  usageThresholds: {cpu: 60}
  usageAggregationType: p95
  scoreAggregationType: avg`
		overTenMinutes = `
aggregated:
  usageThresholds: {cpu: 60}
  usageAggregationType: p95
  usageAggregatedDuration: 10m
  scoreAggregationType: avg
  scoreAggregatedDuration: 10m`
	)
	p95 := []figure{
		aggregated("p95", 5*time.Minute, "3", "3100"), aggregated("p95", 10*time.Minute, "4", "3200"), aggregated("p95", 30*time.Minute, "", ""),
		aggregated("avg", 5*time.Minute, "1", "2900"),
	}
	tests := []struct {
		name          string
		args          string
		pod           *corev1.Pod // nil for one of no class
		usage         func() *cluster.Usage
		filter, score Sum
	}{
		{"the node is what counts", "", nil, figures(), node, node},
		{
			"and what is measured of it need not be all",
			"",
			nil,
			using("2", "3000", neverReported), // 850m and 700 for three pods, 250m and 7 for one
			sum("node", two(2000, 3000), two(2800, 2107)),
			sum("node", two(2000, 3000), two(2800, 2107)),
		},
		{"thresholds for prod are held against pods of class prod", prodThreshold, asProd, figures(), prods, node},
		{"not so for other pods", prodThreshold, nil, figures(), node, node},
		{
			"what the node uses by itself may count among them", prodThreshold + "prodUsageIncludeSys: true", asProd, figures(),
			sum("pods of class prod", two(1300, 1300), two(1600, 700)), node,
		},
		{"a score may go by them", "scoreAccordingProdUsage: true", asProd, figures(), node, prods},
		{"for pods of class prod alone", "scoreAccordingProdUsage: true", nil, figures(), node, node},
		// prod-shown is batch by the source: what it uses is no part of the sum, and its estimate is: 100m, 900 and 2,450m, 1,400.
		{
			"a pod is of class prod by the source as well", prodThreshold, asProd, figures(byPodOf("koord-batch", "prod-shown", "1", "100")),
			sum("pods of class prod", two(100, 900), two(2450, 1400)), node,
		},
		{"if that says anything", prodThreshold, asProd, figures(byPodOf("", "prod-shown", "1", "100")), prods, node},

		{
			"a statistic is over the longest time that there is one of, for filter and score", statistics, nil, figures(p95...),
			sum("p95 of node over 10m0s", two(4000, 3200), two(1800, 705)), sum("avg of node over 5m0s", two(1000, 2900), two(1800, 705)),
		},
		{"without any it is the node", statistics, nil, figures(), node, node},
		{
			"over a time that is said it is over that, or else what all pods are estimated to use", overTenMinutes, nil, figures(p95...),
			sum("p95 of node over 10m0s", two(4000, 3200), two(1800, 705)),
			sum("estimates of pods, for want of avg of node over 10m0s", two(2950, 2307), two(0, 0)),
		},
		{
			"one of nothing is none",
			overTenMinutes,
			nil,
			figures(aggregated("p95", 10*time.Minute, "", ""), aggregated("avg", 10*time.Minute, "1", "1")),
			sum("estimates of pods, for want of p95 of node over 10m0s", two(2950, 2307), two(0, 0)),
			sum("avg of node over 10m0s", two(1000, 1), two(1800, 705)),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := scene{args: test.args, usage: test.usage, pods: pods(), pod: test.pod}.raise(t)
			asked := r.pod
			if test.pod == nil {
				asked = nil
			} else {
				test.filter.Estimate, test.score.Estimate = plusAmounts(test.filter.Estimate, 250, 200<<20), plusAmounts(
					test.score.Estimate, 250, 200<<20,
				)
			}
			e := r.load.Explain(r.node, asked)
			if diff := cmp.Diff(test.filter, e.Filter); diff != "" {
				t.Errorf("filter (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.score, e.ScoredBy); diff != "" {
				t.Errorf("score (-want +got):\n%s", diff)
			}
		})
	}
}

func plusAmounts(a Amounts, cpu, memory int64) Amounts {
	return Amounts{"cpu": a["cpu"] + cpu, "memory": a["memory"] + memory}
}

func TestExplanationNamesEveryPod(t *testing.T) {
	r := scene{
		usage: using("2", "3000", byPod("b", "100m", "50"), aged(time.Minute)), pods: []*corev1.Pod{podObject("c"), podObject("b")},
		node: []func(*corev1.Node){annotatedNode(AnnotationUsageThresholds, "{"), annotatedNode(AnnotationRawAllocatable, `{"cpu":"20"}`)},
		pod:  podObject("new"),
	}.raise(t)
	want := Explanation{
		Node: "node", Measured: "lately", Updated: updated, Age: time.Minute,
		Allocatable: Amounts{"cpu": 20000, "memory": 10000},
		Pods: []PodEntry{
			{
				Namespace: "default",
				Name:      "b",
				Class:     "koord-prod",
				Estimate:  Amounts{"cpu": 850, "memory": 700},
				Used:      Amounts{"cpu": 100, "memory": 50},
			},
			{Namespace: "default", Name: "c", Class: "koord-prod", Estimate: Amounts{"cpu": 850, "memory": 700}, Counts: "unreported"},
		},
		Adds: Amounts{"cpu": 850, "memory": 700}, Class: "koord-prod",
		Thresholds: Amounts{"cpu": 65, "memory": 95},
		// 3,700m of 20,000m leave 81 %, 4,400 of 10,000 leave 56 %: 137 / 2.
		Score:   68,
		Ignored: []string{AnnotationUsageThresholds + ": unexpected end of JSON input"},
	}
	want.Filter = Sum{
		Of:       "node",
		Base:     Amounts{"cpu": 2000, "memory": 3000},
		Delta:    Amounts{"cpu": 850, "memory": 700},
		Estimate: Amounts{"cpu": 3700, "memory": 4400},
	}
	want.ScoredBy = want.Filter
	if diff := cmp.Diff(want, r.load.Explain(r.node, r.pod)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExpectedPodsCountAsThoseThatAreThere(t *testing.T) {
	r := scene{usage: using("2", "0"), pods: []*corev1.Pod{podObject("p", asking("cpu", "2"))}}.raise(t) // 1,700m
	coming, batch := r.newPod(podObject("coming", asking("cpu", "2"))), r.newPod(podObject("batch", ofClass("koord-batch")))
	r.cluster.Expect(coming, "node")
	r.cluster.Expect(batch, "node")
	defer r.cluster.Release(coming.UID)
	defer r.cluster.Release(batch.UID)
	e := r.load.Explain(r.cluster.Snapshot().NodeByName("node"), r.newPod(podObject("new", asking("cpu", "1300m"))))
	// That of class batch asks for no batch-cpu, and counts for 250m: 1,700 + 1,700 + 250. The new one adds 1,105m.
	if e.Filter.Delta["cpu"] != 3650 || e.Filter.Estimate["cpu"] != 6755 || e.Reason != "node(s) cpu usage exceed threshold" {
		t.Errorf("delta %d, estimate %d, reason %q", e.Filter.Delta["cpu"], e.Filter.Estimate["cpu"], e.Reason)
	}
	counts := map[string]string{}
	for _, pod := range e.Pods {
		counts[pod.Name] = pod.Counts
	}
	if diff := cmp.Diff(map[string]string{"p": "unreported", "coming": "expected", "batch": "expected"}, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExplanationOfANodeThatWasNeverMeasured(t *testing.T) {
	r := scene{pods: []*corev1.Pod{podObject("old")}}.raise(t)
	want := Explanation{
		Node: "node", Measured: "never", Allocatable: Amounts{"cpu": 10000, "memory": 10000}, Thresholds: Amounts{"cpu": 65, "memory": 95},
	}
	if diff := cmp.Diff(want, r.load.Explain(r.node, nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
