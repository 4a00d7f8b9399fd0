package loadaware

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// Amounts are amounts by resource: CPU in thousandths, memory in bytes, others as they are
// counted; or percentages.
type Amounts map[corev1.ResourceName]int64

// Explanation is how the plugin comes to what it says of a node.
type Explanation struct {
	Node string `json:"node"`
	// Measured is "never", "expired" or "lately".
	Measured string `json:"measured"`
	// Updated is when the node was measured, Age how old that was when it was last looked at.
	Updated     time.Time     `json:"updated,omitzero"`
	Age         time.Duration `json:"age,omitempty"`
	Allocatable Amounts       `json:"allocatable"`
	// Pods are the pods on the node, and the pods expected there, by namespace and name.
	Pods []PodEntry `json:"pods,omitempty"`
	// Adds is the estimate of the pod that was asked for, Class its priority class. They are
	// empty when there was none.
	Adds  Amounts `json:"adds,omitempty"`
	Class string  `json:"class,omitempty"`
	// Filter is compared with Thresholds, in percent of Allocatable; the score is worked out from ScoredBy.
	Filter     Sum     `json:"filter"`
	Thresholds Amounts `json:"thresholds"`
	ScoredBy   Sum     `json:"scoredBy"`
	// Reason is why the pod does not fit, "" when it does; Score is 0 to 100.
	Reason string `json:"reason,omitempty"`
	Score  int64  `json:"score"`
	// Bounded are namespaces whose pods are estimated to use so much beyond their requests that it counts for
	// their like alone, and for pods of other namespaces in part.
	Bounded []string `json:"bounded,omitempty"`
	// Ignored are annotations of the node that are not valid, and why.
	Ignored []string `json:"ignored,omitempty"`
}

// Sum is how much of a node is used if the pod goes there: Base and Delta and what the pod
// adds. It is empty for a node that was never measured.
type Sum struct {
	// Of names the subject of Base, as in "node" or "p95 of node over 5m0s".
	Of       string  `json:"of"`
	Base     Amounts `json:"base,omitempty"`
	Delta    Amounts `json:"delta,omitempty"`
	Estimate Amounts `json:"estimate,omitempty"`
}

// PodEntry is the share of one pod in its node's sum.
type PodEntry struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Class     string  `json:"class"`
	Estimate  Amounts `json:"estimate"`
	// Used is the measured use, nil when nothing was measured.
	Used Amounts `json:"used,omitempty"`
	// Counts is why its estimate counts beside what was measured: "unreported", "expected" (it is
	// about to come), "just scheduled" or "bootstrapping"; "" when it does not.
	Counts string `json:"counts,omitempty"`
}

// String says the same of a node without any figures as of a node whose figures are too old.
func (m measured) String() string { return [...]string{"never", "expired", "expired", "lately"}[m] }

func (c counted) String() string {
	return [...]string{"", "unreported", "expected", "just scheduled", "bootstrapping"}[c]
}

func (b base) String() string {
	statistic := fmt.Sprintf("%s of node over %s", b.statistic.kind, b.statistic.over)
	return [...]string{"node", statistic, "estimates of pods, for want of " + statistic, "pods of class prod"}[b.kind]
}

// Explain says how it comes to what it says of a node for a pod, or with nil for a pod that
// adds nothing and is of no class.
func (l *LoadAware) Explain(node *cluster.Node, pod *cluster.Pod) Explanation {
	w := l.of(node)
	e := Explanation{Node: node.Name}
	a := l.account(node, w.custom, func(entry *entry) { e.Pods = append(e.Pods, l.podEntry(entry)) })
	slices.SortFunc(e.Pods, func(a, b PodEntry) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	e.Measured, e.Allocatable = a.measured.String(), l.amounts(a.allocatable)
	if node.Usage != nil {
		e.Updated, e.Age = node.Usage.Updated, node.Usage.Age()
	}
	adds, who, namespace := make(vector, len(l.resources.names)), anyone, ""
	if pod != nil {
		namespace = pod.Namespace
		adds, who = l.adds(pod)
		e.Adds, e.Class = l.amounts(adds), classOf(pod).String()
	}
	e.Thresholds = l.amounts(a.filter[who].thresholds)
	if a.measured != never {
		e.Filter, e.ScoredBy = l.explainSum(&a.filter[who].of, namespace, adds), l.explainSum(&a.score[who], namespace, adds)
		e.Bounded = slices.Sorted(maps.Keys(a.filter[who].of.own))
	}
	if reason := w.filter[who].against(namespace, adds); reason >= 0 && (pod == nil || !ofDaemonSet(pod)) {
		e.Reason = l.reasons()[reason]
	}
	e.Score = l.rate(w, who, namespace, adds)
	for _, wrong := range w.custom.wrong {
		e.Ignored = append(e.Ignored, wrong.name+": "+wrong.err.Error())
	}
	return e
}

func (l *LoadAware) explainSum(s *sum, namespace string, adds vector) Sum {
	estimate, delta := slices.Clone(adds), slices.Clone(s.delta)
	for i := range estimate {
		delta[i] = plus(delta[i], s.ownAt(namespace, i))
		estimate[i] = plus(estimate[i], plus(s.used[i], delta[i]))
	}
	return Sum{Of: s.base.String(), Base: l.amounts(s.used), Delta: l.amounts(delta), Estimate: l.amounts(estimate)}
}

func (l *LoadAware) podEntry(e *entry) PodEntry {
	p := PodEntry{
		Namespace: e.pod.Namespace, Name: e.pod.Name, Class: e.class.String(),
		Estimate: l.amounts(e.estimate), Counts: e.counted.String(),
	}
	if e.reported {
		p.Used = l.amounts(e.used)
	}
	return p
}

// amounts shows a vector to people.
func (l *LoadAware) amounts(v vector) Amounts {
	amounts := make(Amounts, len(v))
	for i, name := range l.resources.names {
		amounts[name] = v[i]
	}
	return amounts
}
