package placement

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"muster.dev/muster/cluster"
)

// Budgets are the PodDisruptionBudgets of a snapshot.
type Budgets struct{ byNamespace map[string][]budget }

type budget struct {
	*policyv1.PodDisruptionBudget
	selector labels.Selector
}

// NewBudgets reads the budgets of a snapshot. A budget that selects nothing, or makes no sense, is left out.
func NewBudgets(snap *cluster.Snapshot) *Budgets {
	b := &Budgets{byNamespace: map[string][]budget{}}
	for _, object := range snap.DisruptionBudgets.All() {
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err == nil && !selector.Empty() {
			b.byNamespace[object.Namespace] = append(b.byNamespace[object.Namespace], budget{object, selector})
		}
	}
	return b
}

// Of returns the budgets against which an eviction of the pod would be counted. One that is
// under way already is not (filterPodsWithPDBViolation in
// pkg/scheduler/framework/plugins/defaultpreemption).
func (b *Budgets) Of(pod *cluster.Pod) (budgets []*policyv1.PodDisruptionBudget) {
	if len(pod.Labels) == 0 {
		return nil
	}
	for _, budget := range b.byNamespace[pod.Namespace] {
		if _, underWay := budget.Status.DisruptedPods[pod.Name]; !underWay && budget.selector.Matches(labels.Set(pod.Labels)) {
			budgets = append(budgets, budget.PodDisruptionBudget)
		}
	}
	return budgets
}
