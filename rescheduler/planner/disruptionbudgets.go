package planner

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"muster.dev/muster/cluster"
)

// disruptionBudget is a PodDisruptionBudget as the API server reads it when a pod is to be evicted
// (pkg/registry/core/pod/storage/eviction.go). Preemption reads it in another way: package placement.
type disruptionBudget struct {
	account
	selector labels.Selector
	allowed  int32 // evictions of pods that it does not spare
	// unhealthy says that pods which are not ready may be evicted, and count for nothing.
	unhealthy bool
}

// mostDisrupted is how many evictions a budget may have granted that its controller has not seen, before it grants no more.
const mostDisrupted = 2000

// disruptionBudgetsOf returns the budgets of a snapshot by namespace. An empty selector is one of all pods (policy/v1).
// whenHealthy takes them for what they allow once all their pods are healthy.
func disruptionBudgetsOf(snap *cluster.Snapshot, whenHealthy bool) map[string][]disruptionBudget {
	budgets := map[string][]disruptionBudget{}
	for name, object := range snap.DisruptionBudgets.All() {
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err != nil {
			continue
		}
		budget := disruptionBudget{
			account: account{kind: "PodDisruptionBudget", name: name.String()}, selector: selector,
			allowed: allows(object), unhealthy: allowsUnhealthy(object),
		}
		if whenHealthy {
			budget.allowed = max(budget.allowed, object.Status.ExpectedPods-object.Status.DesiredHealthy)
		}
		budgets[name.Namespace] = append(budgets[name.Namespace], budget)
	}
	return budgets
}

// allows returns how many evictions of healthy pods a budget grants now (checkAndDecrement).
func allows(budget *policyv1.PodDisruptionBudget) int32 {
	status := &budget.Status
	if status.ObservedGeneration < budget.Generation || len(status.DisruptedPods) > mostDisrupted {
		return 0
	}
	return max(0, status.DisruptionsAllowed)
}

// allowsUnhealthy reports whether a budget grants the eviction of pods that are not ready, though it may allow none.
func allowsUnhealthy(budget *policyv1.PodDisruptionBudget) bool {
	if policy := budget.Spec.UnhealthyPodEvictionPolicy; policy != nil && *policy == policyv1.AlwaysAllow {
		return true
	}
	status := &budget.Status // IfHealthyBudget, which a policy that is not set stands for
	return status.DesiredHealthy > 0 && status.CurrentHealthy >= status.DesiredHealthy
}

// bypassesBudgets reports whether the eviction of a pod counts for no budget, whatever they say: it does not run (canIgnorePDB).
func bypassesBudgets(pod *cluster.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodPending, corev1.PodSucceeded, corev1.PodFailed:
		return true
	case corev1.PodRunning, corev1.PodUnknown:
	}
	return pod.DeletionTimestamp != nil
}

// spares reports whether the eviction of a pod that it selects is granted, and not counted.
func (b *disruptionBudget) spares(pod *cluster.Pod) bool { return b.unhealthy && !pod.Ready() }
