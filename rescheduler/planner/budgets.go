package planner

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"muster.dev/muster/cluster"
)

// Budgets bound how many pods a plan may evict in all. 0 stands for no bound.
type Budgets struct {
	Total        int
	PerNode      int
	PerNamespace int
	// PerWorkload is how many pods of one controller may be evicted. PerWorkloadPercent is the same as a part of its pods on
	// nodes, rounded up.
	PerWorkload, PerWorkloadPercent int
	// Selected bound pods that a selector matches.
	Selected []SelectedBudget
	// WhenHealthy takes PodDisruptionBudgets for what they allow once all their pods are healthy.
	WhenHealthy bool
	// IgnoreDisruptionBudgets leaves PodDisruptionBudgets out. The API server does not.
	IgnoreDisruptionBudgets bool
}

// SelectedBudget bounds the evictions of pods that a selector matches. Unlike in Budgets, a
// bound of 0 allows none.
type SelectedBudget struct {
	Namespace string // "" for all
	Selector  labels.Selector
	// Evictions says how many pods may leave the nodes whose label TopologyKey has a value. Nodes without the label have the
	// value "". Without a TopologyKey, all have.
	Evictions   func(domain string) int
	TopologyKey string
}

// AnyNumber is a SelectedBudget that does not bind.
const AnyNumber = 1 << 30

// ledger counts evictions by the budgets that they fall under.
type ledger struct {
	budgets    Budgets
	snap       *cluster.Snapshot
	workloads  *Workloads
	disruption map[string][]disruptionBudget // by namespace
	accounts   map[account]int32             // places in left
	left       []int32
}

// account is an account that evictions are counted on.
type account struct {
	kind string
	name string
	at   int32 // a node, or a place in Budgets.Selected, whose name is a domain
}

func newLedger(b Budgets, snap *cluster.Snapshot) *ledger {
	return &ledger{
		budgets: b, snap: snap, workloads: WorkloadsOf(snap), disruption: disruptionBudgetsOf(snap, &b), accounts: map[account]int32{},
	}
}

// of returns the accounts of a pod's eviction, and how many PodDisruptionBudgets the API server finds for it.
func (l *ledger) of(pod *cluster.Pod, node int32) (accounts []int32, protected int) {
	open := func(a account, allowed int32) {
		at, known := l.accounts[a]
		if !known {
			at = int32(len(l.left)) //nolint:gosec // no more than there are pods
			l.accounts[a], l.left = at, append(l.left, allowed)
		}
		accounts = append(accounts, at)
	}
	bounded := func(a account, bound int) {
		if bound > 0 {
			open(a, int32(min(bound, AnyNumber)))
		}
	}
	b := &l.budgets
	bounded(account{kind: "total"}, b.Total)
	bounded(account{kind: "node", at: node}, b.PerNode)
	bounded(account{kind: "namespace", name: pod.Namespace}, b.PerNamespace)
	if owner := metav1.GetControllerOfNoCopy(pod.Pod); owner != nil {
		bounded(account{kind: "workload", name: string(owner.UID)}, b.PerWorkload)
		if b.PerWorkloadPercent > 0 {
			bounded(account{kind: "percent", name: string(owner.UID)}, percent(b.PerWorkloadPercent, l.workloads.of(pod).pods))
		}
	}
	for i, s := range b.Selected {
		if (s.Namespace == "" || s.Namespace == pod.Namespace) && s.Selector.Matches(labels.Set(pod.Labels)) {
			domain := l.snap.Node(node).Labels[s.TopologyKey]                                                       // "" without a key, too
			open(account{kind: "selected", name: domain, at: int32(i)}, int32(min(s.Evictions(domain), AnyNumber))) //nolint:gosec // it fits
		}
	}
	if bypassesBudgets(pod) {
		return accounts, 0
	}
	for _, budget := range l.disruption[pod.Namespace] {
		if !budget.selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if protected++; !budget.spares(pod) {
			open(budget.account, budget.allowed)
		}
	}
	return accounts, protected
}

// percent of a number, rounded up.
func percent(share, of int) int { return (share*of + 99) / 100 }

// allows reports whether one more eviction may be counted on these accounts.
func (l *ledger) allows(accounts []int32) bool { return l.headroom(accounts) > 0 }

// overdrawn reports whether more is counted on one of the accounts than is allowed.
func (l *ledger) overdrawn(accounts []int32) bool { return l.headroom(accounts) < 0 }

// count counts a number of evictions, which may be taken back.
func (l *ledger) count(accounts []int32, evictions int32) {
	for _, a := range accounts {
		l.left[a] -= evictions
	}
}

// headroom returns how many evictions are allowed by the tightest of the accounts.
func (l *ledger) headroom(accounts []int32) int32 {
	least := int32(1 << 30)
	for _, a := range accounts {
		least = min(least, l.left[a])
	}
	return least
}

// SeveralBudgets returns a function that reports whether a pod has more than one PodDisruptionBudget: then the
// API server refuses to evict it.
func SeveralBudgets(snap *cluster.Snapshot) func(pod *cluster.Pod) bool {
	budgets := newLedger(Budgets{}, snap)
	return func(pod *cluster.Pod) bool {
		_, protected := budgets.of(pod, 0)
		return protected > 1
	}
}

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
// There are none if they are left out.
func disruptionBudgetsOf(snap *cluster.Snapshot, b *Budgets) map[string][]disruptionBudget {
	budgets := map[string][]disruptionBudget{}
	if b.IgnoreDisruptionBudgets {
		return budgets
	}
	for name, object := range snap.DisruptionBudgets.All() {
		selector, err := metav1.LabelSelectorAsSelector(object.Spec.Selector)
		if err != nil {
			continue
		}
		budget := disruptionBudget{
			account: account{kind: "PodDisruptionBudget", name: name.String()}, selector: selector,
			allowed: allows(object), unhealthy: allowsUnhealthy(object),
		}
		if b.WhenHealthy {
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
