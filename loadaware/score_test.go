package loadaware

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestScore has the node of 10 CPUs and 10,000 bytes, and a pod that is estimated to use 850m and
// 700 bytes.
func TestScore(t *testing.T) {
	type nodes = []func(*corev1.Node)
	for _, test := range []struct {
		name string
		args string
		node nodes
		use  [2]string // of CPU and memory; none for a node that was never measured
		more []figure
		want int64
	}{
		// CPU: (10,000 - 2,850)·100/10,000 = 71.5 → 71. Memory: (10,000 - 5,700)·100/10,000 = 43. (71 + 43)/2 = 57.
		{"the mean of what is left of CPU and memory", "", nil, [2]string{"2", "5000"}, nil, 57},
		{"by their weights", "resourceWeights: {cpu: 3, memory: 1}", nil, [2]string{"2", "5000"}, nil, 64}, // (213 + 43)/4
		{"of one alone", "resourceWeights: {memory: 7}", nil, [2]string{"2", "5000"}, nil, 43},             // 301/7
		{
			"and of the scarcest one", "{resourceWeights: {cpu: 1, memory: 1}, dominantResourceWeight: 2}", nil,
			[2]string{"2", "5000"},
			nil, 50,
		}, // (71 + 43 + 86)/4
		{"which may be all that counts", "dominantResourceWeight: 1", nil, [2]string{"2", "5000"}, nil, 43},
		// The node has none of the GPUs that the arguments name, so the least of all is 0.
		{
			"and may be one that has no weight",
			"{resourceWeights: {cpu: 1, memory: 1}, dominantResourceWeight: 2, usageThresholds: {example.com/gpu: 50}}", nil,
			[2]string{"2", "5000"},
			nil, 28,
		}, // 114/4
		{"what is all used up is 0", "", nil, [2]string{"9150m", "0"}, nil, 46},            // (0 + 93)/2
		{"what is more than used up is 0 as well", "", nil, [2]string{"20", "0"}, nil, 46}, // (0 + 93)/2
		{"what a node does not offer is 0", "", nodes{offering("memory", "10000")}, [2]string{"0", "0"}, nil, 46},
		{
			"what a node has goes before what it offers", "",
			nodes{annotatedNode(AnnotationRawAllocatable, `{"cpu":"20"}`)},
			[2]string{"2", "5000"},
			nil, 64,
		}, // 17,150/20,000 → 85; (85 + 43)/2
		{"a node that was never measured is worst", "", nil, [2]string{}, nil, 0},
		{"one that was not measured lately is worst", "", nil, [2]string{"0", "0"}, []figure{aged(180 * time.Second)}, 0},
		{
			"even if pods may go there", "enableScheduleWhenNodeMetricsExpired: true", nil,
			[2]string{"0", "0"},
			[]figure{aged(180 * time.Second)},
			0,
		},
		// 2⁶² bytes, half of them used: (2⁶¹ - 700)·100/2⁶² = 49.99…; CPU is not offered.
		{"large amounts do not overflow", "", nodes{offering("memory", "4611686018427387904")}, [2]string{"0", "2305843009213693952"}, nil, 24},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := scene{args: test.args, node: test.node, pod: podObject("new")}
			if test.use[0] != "" {
				s.usage = using(test.use[0], test.use[1], test.more...)
			}
			r := s.raise(t)
			totals := []int64{-1}
			r.profile.Judge(r.pod, r.cluster.Snapshot()).Rank([]int32{r.node.Index}, totals)
			if totals[0] != test.want {
				t.Errorf("%d, want %d", totals[0], test.want)
			}
			if got := r.load.Explain(r.node, r.pod).Score; got != test.want {
				t.Errorf("explained %d, want %d", got, test.want)
			}
		})
	}
}
