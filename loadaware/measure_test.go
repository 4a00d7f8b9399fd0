package loadaware

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

// metered is a Meter of cpu and memory by the arguments of a scene, and the scene.
func metered(t *testing.T, s scene) (*Meter, raised) {
	t.Helper()
	r := s.raise(t)
	return NewMeter([]config.Profile{config.Default().Profiles[0], *configured(t, s.args)}, []corev1.ResourceName{"cpu"}, Options{
		Logger: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()),
	}), r
}

func TestAMeterSaysWhatIsUsed(t *testing.T) {
	const gi = 1 << 30
	old := became(corev1.PodScheduled, -time.Hour)
	tests := []struct {
		name  string
		scene scene
		want  *Measurement // without a time; nil when nothing is known
		pods  map[string][]int64
	}{
		{
			name: "nothing of a node that was never measured", pods: map[string][]int64{"a": {850, 700 << 20}},
			scene: scene{
				node: []func(*corev1.Node){offering("cpu", "10", "memory", "10Gi")},
				pods: []*corev1.Pod{podObject("a", asking("cpu", "1", "memory", "1000Mi"))},
			},
		},
		{name: "nothing of figures that have expired", scene: scene{usage: using("1", "1Gi", aged(180*time.Second))}},
		{name: "nothing of a node that nobody reports for", scene: scene{usage: using("1", "1Gi", neverReported)}},
		{
			name:  "what was measured of the node",
			scene: scene{node: []func(*corev1.Node){offering("cpu", "10", "memory", "10Gi")}, usage: using("1", "1Gi", aged(179*time.Second))},
			want:  &Measurement{Used: []int64{1000, gi}, Expected: []int64{1000, gi}, Allocatable: []int64{10_000, 10 * gi}},
		},
		{
			name: "what is expected of pods that it does not show is no part of it", pods: map[string][]int64{"a": {850, 700 << 20}},
			scene: scene{
				node: []func(*corev1.Node){offering("cpu", "10", "memory", "10Gi")}, usage: using("1", "1Gi"),
				pods: []*corev1.Pod{podObject("a", asking("cpu", "1", "memory", "1000Mi"), old)},
			},
			want: &Measurement{Used: []int64{1000, gi}, Expected: []int64{1850, gi + 700<<20}, Allocatable: []int64{10_000, 10 * gi}},
		},
		{
			name: "of a pod that is measured, that, however much it asks for", pods: map[string][]int64{"a": {300, 100 << 20}},
			scene: scene{
				node: []func(*corev1.Node){offering("cpu", "10", "memory", "10Gi")}, usage: using("1", "1Gi", byPod("a", "300m", "100Mi")),
				pods: []*corev1.Pod{podObject("a", asking("cpu", "1", "memory", "1000Mi"), old)},
			},
			want: &Measurement{Used: []int64{1000, gi}, Expected: []int64{1000, gi}, Allocatable: []int64{10_000, 10 * gi}},
		},
		{
			name: "of one that was just scheduled, what is more", pods: map[string][]int64{"a": {850, 900 << 20}},
			scene: scene{
				node: []func(*corev1.Node){offering("cpu", "10", "memory", "10Gi")}, usage: using("1", "1Gi", byPod("a", "300m", "900Mi")),
				pods: []*corev1.Pod{podObject("a", asking("cpu", "1", "memory", "1000Mi"), became(corev1.PodScheduled, 0))},
			},
			want: &Measurement{Used: []int64{1000, gi}, Expected: []int64{1550, gi}, Allocatable: []int64{10_000, 10 * gi}},
		},
		{
			name: "the statistic that the filter goes by",
			scene: scene{
				args:  "aggregated: {usageThresholds: {cpu: 50}, usageAggregationType: p95, usageAggregatedDuration: 10m}",
				node:  []func(*corev1.Node){offering("cpu", "10", "memory", "10Gi")},
				usage: using("1", "1Gi", aggregated("p95", 10*time.Minute, "2", "3Gi")),
			},
			want: &Measurement{Used: []int64{2000, 3 * gi}, Expected: []int64{2000, 3 * gi}, Allocatable: []int64{10_000, 10 * gi}},
		},
		{
			name: "nothing without that statistic",
			scene: scene{
				args:  "aggregated: {usageThresholds: {cpu: 50}, usageAggregationType: p95, usageAggregatedDuration: 10m}",
				usage: using("1", "1Gi"),
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			meter, r := metered(t, test.scene)
			if diff := cmp.Diff([]corev1.ResourceName{"cpu", "memory"}, meter.Resources()); diff != "" {
				t.Fatalf("resources (-want +got):\n%s", diff)
			}
			got, known := meter.Node(r.node)
			if known != (test.want != nil) {
				t.Fatalf("known is %t: %+v", known, got)
			}
			if known {
				if !got.At.Equal(r.node.Usage.Updated) {
					t.Errorf("it was measured at %s, want %s", got.At, r.node.Usage.Updated)
				}
				got.At, got.Since = time.Time{}, time.Time{}
				if diff := cmp.Diff(*test.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
			pods := map[string][]int64{}
			for _, pod := range r.node.Pods {
				pods[pod.Name] = meter.Pod(pod, r.node)
			}
			if diff := cmp.Diff(test.pods, pods); diff != "" && len(test.pods)+len(pods) > 0 {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMeterKnowsWhenFiguresBegin(t *testing.T) {
	for name, test := range map[string]struct {
		args  string
		usage []figure
		want  time.Duration // before they were taken
	}{
		"by default a minute before":        {"", nil, time.Minute},
		"as long before as the source says": {"", []figure{everySoOften(15 * time.Second)}, 15 * time.Second},
		"as long as a statistic is over": {
			"aggregated: {usageThresholds: {cpu: 50}, usageAggregationType: p95}",
			[]figure{aggregated("p95", 5*time.Minute, "2", "3Gi")},
			5 * time.Minute,
		},
		"not as long as a statistic that does not count": {"", []figure{aggregated("p95", 5*time.Minute, "2", "3Gi")}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			meter, r := metered(t, scene{args: test.args, usage: using("1", "1Gi", test.usage...)})
			got, _ := meter.Node(r.node)
			if got.At.Sub(got.Since) != test.want {
				t.Errorf("they begin at %s, %s before they were taken, want %s", got.Since, got.At.Sub(got.Since), test.want)
			}
		})
	}
}

func TestAMeterIsByDefaultArgumentsWithoutLoadAware(t *testing.T) {
	meter := NewMeter(config.Default().Profiles, nil, Options{
		Logger: slog.New(slog.DiscardHandler), Metrics: NewMetrics(prometheus.NewRegistry()),
	})
	if got := meter.Expiration(); got != 180*time.Second {
		t.Errorf("figures expire after %s", got)
	}
	if diff := cmp.Diff([]int64{50, 60}, meter.Amounts(map[corev1.ResourceName]int64{"cpu": 50, "memory": 60})); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
}

func TestCeilings(t *testing.T) {
	m := Measurement{Used: []int64{800, 80, 0}, Allocatable: []int64{1000, 101, 7}}
	got := m.Ceilings([]int64{80, 80, 0})
	if diff := cmp.Diff([]int64{800, 81, 0}, got); diff != "" { // 80.8 bytes are not reached by 80
		t.Errorf("(-want +got):\n%s", diff)
	}
}
