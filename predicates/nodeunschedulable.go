package predicates

import (
	corev1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// nodeUnschedulablePredicate keeps pods off cordoned nodes unless they tolerate
// the taint that stands for it
// (pkg/scheduler/framework/plugins/nodeunschedulable).
type nodeUnschedulablePredicate struct{}

func newNodeUnschedulable(*config.Profile) (Predicate, error) {
	return nodeUnschedulablePredicate{}, nil
}

func (nodeUnschedulablePredicate) Name() string { return config.NodeUnschedulable }

func (nodeUnschedulablePredicate) Aspects() cluster.Aspect { return cluster.AspectUnschedulable }

func (nodeUnschedulablePredicate) For(pod *cluster.Pod, _ *cluster.Snapshot) Check {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	if corev1helpers.TolerationsTolerateTaint(klog.Background(), pod.Spec.Tolerations, &cordon, comparisonOperators) {
		return nil
	}
	return CheckFunc(func(node *cluster.Node) Verdict {
		if node.Spec.Unschedulable {
			return nodeUnschedulable | hopeless
		}
		return Fits
	})
}
