package predicates

import (
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// comparisonOperators is the feature gate TaintTolerationComparisonOperators
// (Lt, Gt), which is off by default in v1.36.
const comparisonOperators = false

// taintToleration keeps pods off nodes with a taint NoSchedule or NoExecute that
// they do not tolerate (pkg/scheduler/framework/plugins/tainttoleration).
type taintToleration struct{}

func newTaintToleration(*config.Profile) (Predicate, error) { return taintToleration{}, nil }

func (taintToleration) Name() string { return config.TaintToleration }

func (taintToleration) Aspects() cluster.Aspect { return cluster.AspectTaints }

func (taintToleration) For(pod *cluster.Pod, _ *cluster.Snapshot) Check {
	log, tolerations := klog.Background(), pod.Spec.Tolerations
	return CheckFunc(func(node *cluster.Node) Verdict {
		for i := range node.Spec.Taints {
			taint := &node.Spec.Taints[i]
			if keepsPodsOff(taint) && !corev1helpers.TolerationsTolerateTaint(log, tolerations, taint, comparisonOperators) {
				return untoleratedTaint | hopeless
			}
		}
		return Fits
	})
}

func keepsPodsOff(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
}

// taintTolerationScore prefers the nodes with the fewest taints PreferNoSchedule that
// the pod does not tolerate (pkg/scheduler/framework/plugins/tainttoleration).
type taintTolerationScore struct{}

func newTaintTolerationScore(*config.Profile) (Score, error) { return taintTolerationScore{}, nil }

func (taintTolerationScore) Name() string { return config.TaintToleration }

func (taintTolerationScore) Aspects() cluster.Aspect { return cluster.AspectTaints }

func (taintTolerationScore) For(pod *cluster.Pod, _ *cluster.Snapshot) Rating {
	log, tolerations := klog.Background(), pod.Spec.Tolerations
	avoided := func(snap *cluster.Snapshot) []int32 { return snap.Having(cluster.TraitAvoided) }
	return Rating{Among: &tally{reversed: true, few: avoided, of: func(node *cluster.Node) int64 {
		var untolerated int64
		for i := range node.Spec.Taints {
			taint := &node.Spec.Taints[i]
			if taint.Effect == corev1.TaintEffectPreferNoSchedule &&
				!corev1helpers.TolerationsTolerateTaint(log, tolerations, taint, comparisonOperators) {
				untolerated++
			}
		}
		return untolerated
	}}}
}
