package predicates

import (
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
)

// comparisonOperators is the feature gate TaintTolerationComparisonOperators
// (Lt, Gt), which is off by default in v1.36.
const comparisonOperators = false

// taintToleration keeps pods off nodes with a taint NoSchedule or NoExecute that
// they do not tolerate (pkg/scheduler/framework/plugins/tainttoleration).
type taintToleration struct{}

func newTaintToleration(*v1alpha2.Profile) (Predicate, error) { return taintToleration{}, nil }

func (taintToleration) Name() string { return v1alpha2.TaintToleration }

func (taintToleration) Aspects() cluster.Aspect { return cluster.AspectTaints }

func (taintToleration) For(pod *cluster.Pod, _ *cluster.Snapshot) Check {
	log := klog.Background()
	return func(node *cluster.Node) Verdict {
		if len(node.Spec.Taints) == 0 {
			return Fits
		}
		if _, untolerated := corev1helpers.FindMatchingUntoleratedTaint(log, node.Spec.Taints, pod.Spec.Tolerations, keepsPodsOff, comparisonOperators); untolerated {
			return untoleratedTaint | hopeless
		}
		return Fits
	}
}

func keepsPodsOff(taint *corev1.Taint) bool {
	return taint.Effect == corev1.TaintEffectNoSchedule || taint.Effect == corev1.TaintEffectNoExecute
}
