package conformance

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/predicates"
)

// withLoad makes the plugins of a profile that are not in the package predicates.
func withLoad(cfg *config.Profile) []predicates.Plugin {
	if !loadaware.Runs(cfg) {
		return nil
	}
	return []predicates.Plugin{loadaware.New(cfg, loadaware.Options{
		Logger: slog.New(slog.DiscardHandler), Metrics: loadaware.NewMetrics(prometheus.NewRegistry()),
	}).Plugin()}
}

func drawLoadArgs(s *source) map[string]any {
	args := map[string]any{"allowCustomizeEstimation": s.chance(50), "scoreAccordingProdUsage": s.chance(50)}
	if s.chance(50) {
		args["prodUsageThresholds"] = map[string]any{"cpu": one(s, 20, 50)}
	}
	if s.chance(30) {
		args["aggregated"] = map[string]any{
			"usageThresholds": map[string]any{"cpu": 50}, "usageAggregationType": "p95", "usageAggregatedDuration": one(s, "0s", "5m", "10m"),
		}
	}
	if s.chance(30) {
		args["estimatedSecondsAfterPodScheduled"], args["dominantResourceWeight"] = 300, 2
	}
	return args
}

// customizeLoad gives some nodes thresholds of their own.
func customizeLoad(s *source, node *corev1.Node) {
	if s.chance(20) {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, loadaware.AnnotationUsageThresholds, one(s, `{"usageThresholds":{"cpu":90}}`, "{"))
	}
	if s.chance(20) {
		metav1.SetMetaDataAnnotation(&node.ObjectMeta, loadaware.AnnotationRawAllocatable, `{"cpu":"2"}`)
	}
}

// customizeEstimate says of some pods how they are estimated.
func customizeEstimate(s *source, pod *corev1.Pod) {
	if s.chance(20) {
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, loadaware.AnnotationScalingFactors, one(s, `{"cpu":20}`, `{"memory":100}`))
	}
	if s.chance(20) {
		metav1.SetMetaDataLabel(&pod.ObjectMeta, loadaware.LabelPriorityClass, one(s, "koord-prod", "koord-batch"))
	}
}

// schedule says of most pods on nodes when they were scheduled.
func schedule(s *source, pod *corev1.Pod) {
	if s.chance(80) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type:               corev1.PodScheduled,
			Status:             corev1.ConditionTrue,
			LastTransitionTime: metav1.NewTime(epoch.Add(-time.Duration(one(s, 10, 100, 1000)) * time.Second)),
		})
	}
}

// epoch is when nodes were measured.
var epoch = time.Unix(1_000_000, 0)

// measure changes what is known of the use of a node.
func (h *History) measure() error {
	s, node := h.source, h.anyNode()
	if s.chance(10) {
		h.note("node %s: nothing is known of its use", node)
		h.cluster.SetUsage(node, nil)
		return nil
	}
	amounts := func(milliCPU int) cluster.Resources {
		return cluster.ResourcesOf(corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(fmt.Sprintf("%dm", s.upTo(milliCPU))),
			corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dMi", s.upTo(1000))),
		})
	}
	usage := &cluster.Usage{
		Updated: epoch, Seen: epoch.Add(one(s, 0, time.Minute, time.Hour)), Interval: time.Minute,
		Node: amounts(2000), System: amounts(200), Pods: map[types.NamespacedName]cluster.PodUsage{},
		Aggregated: []cluster.Aggregate{{Type: "p95", Duration: 5 * time.Minute, Used: amounts(3000)}},
	}
	for _, name := range slices.Sorted(maps.Keys(h.pods)) {
		if pod := h.pods[name]; pod.Spec.NodeName == node {
			usage.Pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = cluster.PodUsage{Used: amounts(500)}
		}
	}
	h.note("node %s: measured", node)
	h.cluster.SetUsage(node, usage)
	return nil
}
