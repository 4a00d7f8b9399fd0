package loadaware

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

const (
	cpuExceeds              = "node(s) cpu usage exceed threshold"
	memoryExceeds           = "node(s) memory usage exceed threshold"
	aggregatedCPUExceeds    = "node(s) cpu aggregated usage exceed threshold"
	aggregatedMemoryExceeds = "node(s) memory aggregated usage exceed threshold"
	metricExpired           = "node(s) nodeMetric expired"
)

type filterCase struct {
	name   string
	scene  scene
	reason string // "" for a pod that fits
}

// TestFilter has the node of 10 CPUs and 10,000 bytes, and a pod that is estimated to use 850m and 700 bytes,
// unless the rows say otherwise. The default thresholds are then 6,500m and 9,500 bytes.
func TestFilter(t *testing.T) {
	type nodes = []func(*corev1.Node)
	pod := podObject("new")
	custom := func(json string) nodes { return nodes{annotatedNode(AnnotationUsageThresholds, json)} }
	prodPod, batchPod := podObject("new", ofClass("koord-prod")), podObject("new", ofClass("koord-batch"),
		asking("kubernetes.io/batch-cpu", "1000", "kubernetes.io/batch-memory", "1000"))
	prodUses := func(cpu string) figure { return byPodOf("koord-prod", "old", cpu, "0") }
	old := []*corev1.Pod{podObject("old")}
	const (
		large  = "usageThresholds: {memory: 65}"
		prod50 = "prodUsageThresholds: {cpu: 50}"
		p9560  = `
aggregated:
  usageThresholds: {cpu: 60}
  usageAggregationType: p95`
	)

	for _, test := range []filterCase{
		// 5,649m + 850m = 6,499m < 6,500m, and 8,799 + 700 = 9,499 < 9,500.
		{"less than the threshold fits", scene{usage: using("5649m", "8799"), pod: pod}, ""},
		// 5,650m + 850m = 6,500m.
		{"as much as the threshold does not", scene{usage: using("5650m", "0"), pod: pod}, cpuExceeds},
		// 8,800 + 700 = 9,500.
		{"of memory as well", scene{usage: using("0", "8800"), pod: pod}, memoryExceeds},
		// 65 % of 999m is 649.35m: 649m are less, 650m are not. The reference would round 650/999 to 65 %, and let it fit.
		{
			"nothing is rounded: below",
			scene{
				node: nodes{offering("cpu", "999m")}, usage: using("0", "0"),
				pod:  podObject("new", asking("cpu", "649m"), annotated(AnnotationScalingFactors, `{"cpu":100}`)),
				args: "allowCustomizeEstimation: true",
			},
			"",
		},
		{
			"nothing is rounded: above",
			scene{
				node: nodes{offering("cpu", "999m")}, usage: using("1m", "0"),
				pod:  podObject("new", asking("cpu", "649m"), annotated(AnnotationScalingFactors, `{"cpu":100}`)),
				args: "allowCustomizeEstimation: true",
			},
			cpuExceeds,
		},
		// 65 % of 2⁶² bytes are 2,997,595,911,977,802,137.6: the product has 69 bits. The pod adds 70 % of 10 bytes.
		{"large amounts do not overflow: " +
			"below", scene{
			args: large, node: nodes{offering("memory", "4611686018427387904")}, usage: using("0", "2997595911977802130"),
			pod: podObject("new", asking("memory", "10")),
		}, ""},
		{
			"large amounts do not overflow: reached",
			scene{
				args: large, node: nodes{offering("memory", "4611686018427387904")}, usage: using("0", "2997595911977802131"),
				pod: podObject("new", asking("memory", "10")),
			},
			memoryExceeds,
		},
		{
			"sums do not overflow",
			scene{args: large, usage: using("0", "9223372036854775807"), pod: podObject("new", asking("memory", "9223372036854775807"))},
			memoryExceeds,
		},

		{"the pod of a DaemonSet fits everywhere", scene{usage: using("10", "0"), pod: podObject("new", ownedBy("DaemonSet"))}, ""},
		{"that of a ReplicaSet does not", scene{usage: using("10", "0"), pod: podObject("new", ownedBy("ReplicaSet"))}, cpuExceeds},

		{"a node that was never measured fits", scene{pod: pod}, ""},
		{"a node whose figures never came does not", scene{usage: using("0", "0", neverReported), pod: pod}, metricExpired},
		{"figures of 180 s are too old", scene{usage: using("0", "0", aged(180*time.Second)), pod: pod}, metricExpired},
		{"figures of a moment less are not", scene{usage: using("0", "0", aged(180*time.Second-1)), pod: pod}, ""},
		{
			"the arguments say what is too old",
			scene{args: "nodeMetricExpirationSeconds: 30", usage: using("0", "0", aged(30*time.Second)), pod: pod},
			metricExpired,
		},
		{
			"they may say that it does not matter, even if the node was busy",
			scene{args: "enableScheduleWhenNodeMetricsExpired: true", usage: using("10", "0", aged(time.Hour)), pod: pod},
			"",
		},
		{
			"or that figures never came",
			scene{args: "enableScheduleWhenNodeMetricsExpired: true", usage: using("0", "0", neverReported), pod: pod},
			"",
		},
		{"a clock that is behind makes nothing old", scene{usage: using("0", "0", aged(-time.Hour)), pod: pod}, ""},
		{
			"old figures are refused without thresholds, too",
			scene{args: "usageThresholds: {cpu: 0}", usage: using("0", "0", aged(time.Hour)), pod: pod},
			metricExpired,
		},

		{"a threshold of 0 is none", scene{args: "usageThresholds: {cpu: 0, memory: 95}", usage: using("10", "0"), pod: pod}, ""},
		{"nor is there one where a node offers nothing", scene{node: nodes{offering("memory", "10000")}, usage: using("10", "0"), pod: pod}, ""},
		{
			"a threshold may be of any resource",
			scene{
				args: "usageThresholds: {ephemeral-storage: 50}\nestimatedScalingFactors: {ephemeral-storage: 100}",
				node: nodes{offering("ephemeral-storage", "100")}, usage: using("0", "0"),
				pod: podObject("new", asking("ephemeral-storage", "50")),
			},
			"node(s) ephemeral-storage usage exceed threshold",
		},
		// There is no factor for it, so that its estimate is 0.
		{
			"a resource without a factor is not estimated",
			scene{
				args: "usageThresholds: {ephemeral-storage: 50}", node: nodes{offering("ephemeral-storage", "100")}, usage: using("0", "0"),
				pod: podObject("new", asking("ephemeral-storage", "50")),
			},
			"",
		},

		// Pods of class prod use 4,149m, or 4,150m; with 850m more that is below 50 % of 10 CPUs, or not.
		{
			"thresholds for prod count for a pod of prod: below",
			scene{args: prod50, usage: using("10", "0", prodUses("4149m")), pods: old, pod: prodPod},
			"",
		},
		{
			"thresholds for prod count for a pod of prod: reached",
			scene{args: prod50, usage: using("10", "0", prodUses("4150m")), pods: old, pod: prodPod},
			cpuExceeds,
		},
		{
			"and not for another one, which is held to the usual ones",
			scene{args: prod50, usage: using("5649m", "0", prodUses("5")), pods: old, pod: batchPod},
			"",
		},
		{"the usual ones count for a pod of prod where there are none for prod", scene{usage: using("5650m", "0"), pod: prodPod}, cpuExceeds},
		{"they do not where there are some, of 0", scene{args: "prodUsageThresholds: {cpu: 0}", usage: using("10", "0"), pod: prodPod}, ""},

		// 5,149m + 850m = 5,999m < 60 %.
		{
			"statistics take the place of usage: below",
			scene{args: p9560, usage: using("10", "0", aggregated("p95", time.Minute, "5149m", "0")), pod: pod},
			"",
		},
		{
			"statistics take the place of usage: reached",
			scene{args: p9560, usage: using("0", "0", aggregated("p95", time.Minute, "5150m", "0")), pod: pod},
			aggregatedCPUExceeds,
		},
		{
			"memory of statistics has a reason of its own",
			scene{
				args:  "aggregated: {usageThresholds: {memory: 1}, usageAggregationType: avg}",
				usage: using("0", "0", aggregated("avg", time.Minute, "0", "0")), pod: podObject("new"),
			},
			aggregatedMemoryExceeds,
		},
		{
			"thresholds of statistics without a type are none",
			scene{args: "aggregated: {usageThresholds: {cpu: 1}}", usage: using("5649m", "0"), pod: pod},
			"",
		},
		{
			"a type without thresholds is none",
			scene{args: "aggregated: {usageAggregationType: p95}", usage: using("5650m", "0", aggregated("p95", time.Minute, "1", "0")), pod: pod},
			cpuExceeds,
		},
		{
			"thresholds for prod go before statistics",
			scene{args: prod50 + p9560, usage: using("10", "0", aggregated("p95", time.Minute, "10", "0")), pod: prodPod},
			"",
		},

		{
			"a node may have thresholds of its own",
			scene{node: custom(`{"usageThresholds":{"cpu":80}}`), usage: using("7149m", "0"), pod: pod},
			"",
		},
		{"and is held to them", scene{node: custom(`{"usageThresholds":{"cpu":80}}`), usage: using("7150m", "0"), pod: pod}, cpuExceeds},
		{
			"they take the place of all of the section",
			scene{node: custom(`{"usageThresholds":{"cpu":80}}`), usage: using("0", "9999"), pod: pod},
			"",
		},
		{
			"and of no other section",
			scene{args: prod50, node: custom(`{"usageThresholds":{"cpu":0}}`), usage: using("10", "0", prodUses("5")), pods: old, pod: prodPod},
			cpuExceeds,
		},
		{"a section that is empty is not there", scene{node: custom(`{"usageThresholds":{}}`), usage: using("5650m", "0"), pod: pod}, cpuExceeds},
		{
			"a node may have thresholds for prod: below",
			scene{node: custom(`{"prodUsageThresholds":{"cpu":50}}`), usage: using("10", "0", prodUses("4149m")), pods: old, pod: prodPod},
			"",
		},
		{
			"a node may have thresholds for prod: reached",
			scene{node: custom(`{"prodUsageThresholds":{"cpu":50}}`), usage: using("10", "0", prodUses("4150m")), pods: old, pod: prodPod},
			cpuExceeds,
		},
		{
			"a node may have thresholds of a statistic",
			scene{
				node:  custom(`{"aggregatedUsage":{"usageThresholds":{"cpu":60},"usageAggregationType":"p50","usageAggregatedDuration":"5m"}}`),
				usage: using("0", "0", aggregated("p50", 5*time.Minute, "6", "0"), aggregated("p50", 10*time.Minute, "1", "0")), pod: pod,
			},
			aggregatedCPUExceeds,
		},
		{
			"a section of statistics without a type turns them off",
			scene{args: p9560, node: custom(`{"aggregatedUsage":{}}`), usage: using("0", "0", aggregated("p95", time.Minute, "10", "0")), pod: pod},
			"",
		},
		{"what is no JSON is ignored", scene{node: custom(`{"usageThresholds":`), usage: using("5650m", "0"), pod: pod}, cpuExceeds},
		{"so is a threshold above 100", scene{node: custom(`{"usageThresholds":{"cpu":101}}`), usage: using("5650m", "0"), pod: pod}, cpuExceeds},
		{
			"a statistic that there is not voids its section alone",
			scene{
				node: custom(`{"usageThresholds":{"cpu":99},"aggregatedUsage":{"usageAggregationType":"p42"}}`), usage: using("5650m", "0"),
				pod: pod,
			},
			"",
		},
		{
			"and leaves that of the arguments",
			scene{
				args: p9560, node: custom(`{"aggregatedUsage":{"usageThresholds":{"cpu":99},"usageAggregationType":"p42"}}`),
				usage: using("0", "0", aggregated("p95", time.Minute, "5150m", "0")), pod: pod,
			},
			aggregatedCPUExceeds,
		},
		{
			"a resource that is not supported voids its entry alone: below",
			scene{node: custom(`{"usageThresholds":{"cpu":80,"example.com/gpu":50}}`), usage: using("7149m", "0"), pod: pod},
			"",
		},
		{
			"a resource that is not supported voids its entry alone: reached",
			scene{node: custom(`{"usageThresholds":{"cpu":80,"example.com/gpu":50}}`), usage: using("7150m", "0"), pod: pod},
			cpuExceeds,
		},
		{
			"a section of void entries alone is not there",
			scene{node: custom(`{"usageThresholds":{"example.com/gpu":50}}`), usage: using("5650m", "0"), pod: pod},
			cpuExceeds,
		},
		{
			"a void entry leaves the threshold of the arguments: reached",
			scene{node: custom(`{"usageThresholds":{"cpu":101,"memory":50}}`), usage: using("5650m", "0"), pod: pod},
			cpuExceeds,
		},
		{
			"and the others count",
			scene{node: custom(`{"usageThresholds":{"cpu":"80","memory":50}}`), usage: using("0", "4300"), pod: pod},
			memoryExceeds,
		},
		{
			"a section that is no mapping is void alone",
			scene{node: custom(`{"prodUsageThresholds":["cpu"],"usageThresholds":{"cpu":80}}`), usage: using("7149m", "0"), pod: pod},
			"",
		},
		{
			"a statistic over less than no time is void",
			scene{
				args:  p9560,
				node:  custom(`{"aggregatedUsage":{"usageThresholds":{"cpu":99},"usageAggregationType":"p95","usageAggregatedDuration":"-5m"}}`),
				usage: using("0", "0", aggregated("p95", time.Minute, "5150m", "0")), pod: pod,
			},
			aggregatedCPUExceeds,
		},
		{
			"so is one whose thresholds are all void",
			scene{
				args:  p9560,
				node:  custom(`{"aggregatedUsage":{"usageThresholds":{"example.com/gpu":50},"usageAggregationType":"p95"}}`),
				usage: using("0", "0", aggregated("p95", time.Minute, "5150m", "0")), pod: pod,
			},
			aggregatedCPUExceeds,
		},
		{
			"the arguments may support it",
			scene{
				args:  "supportedResources: [ephemeral-storage]",
				node:  append(custom(`{"usageThresholds":{"ephemeral-storage":1}}`), offering("ephemeral-storage", "100")),
				usage: using("0", "0", func(u *cluster.Usage) { u.Node.EphemeralStorage = 1 }), pod: pod,
			},
			"node(s) ephemeral-storage usage exceed threshold",
		},

		// 65 % of 20 CPUs are 13,000m.
		{
			"what a node has goes before what it offers: below",
			scene{node: nodes{annotatedNode(AnnotationRawAllocatable, `{"cpu":"20"}`)}, usage: using("12149m", "0"), pod: pod},
			"",
		},
		{
			"what a node has goes before what it offers: reached",
			scene{node: nodes{annotatedNode(AnnotationRawAllocatable, `{"cpu":"20"}`)}, usage: using("12150m", "0"), pod: pod},
			cpuExceeds,
		},
		{
			"resource by resource",
			scene{node: nodes{annotatedNode(AnnotationRawAllocatable, `{"cpu":"20"}`)}, usage: using("0", "8800"), pod: pod},
			memoryExceeds,
		},
		{
			"unless it is no JSON",
			scene{node: nodes{annotatedNode(AnnotationRawAllocatable, `20`)}, usage: using("5650m", "0"), pod: pod},
			cpuExceeds,
		},
		{
			"or a quantity that takes for ever to read",
			scene{node: nodes{annotatedNode(AnnotationRawAllocatable, `{"cpu":"1e-2147483648"}`)}, usage: using("5650m", "0"), pod: pod},
			cpuExceeds,
		},
		{
			"or longer than what anybody says",
			scene{
				node:  nodes{annotatedNode(AnnotationRawAllocatable, `{"cpu":"20"`+strings.Repeat(" ", longest)+`}`)},
				usage: using("5650m", "0"), pod: pod,
			},
			cpuExceeds,
		},
		{
			"or negative",
			scene{node: nodes{annotatedNode(AnnotationRawAllocatable, `{"cpu":"-1"}`)}, usage: using("5650m", "0"), pod: pod},
			cpuExceeds,
		},
		{
			"what is wrong in one entry of it leaves the others",
			scene{
				node:  nodes{annotatedNode(AnnotationRawAllocatable, `{"cpu":"20","memory":"-1","example.com/gpu":[]}`)},
				usage: using("12149m", "0"), pod: pod,
			},
			"",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := test.scene.raise(t)
			verdict := r.profile.Judge(r.pod, r.cluster.Snapshot()).Verdict(r.node)
			if got := r.profile.Reason(verdict, r.pod); got != test.reason {
				t.Errorf("reason %q, want %q", got, test.reason)
			}
			if want := test.reason != "" && test.reason != metricExpired; verdict.Resolvable() != want {
				t.Errorf("resolvable: %v", !want)
			}
			if got := r.load.Explain(r.node, r.pod).Reason; got != test.reason {
				t.Errorf("explained by %q, want %q", got, test.reason)
			}
		})
	}
}
