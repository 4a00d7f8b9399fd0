package executor

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/evictions"
)

// Metrics of plans that are carried out.
type Metrics struct {
	plans     *prometheus.CounterVec
	evictions *prometheus.CounterVec
	waited    *prometheus.HistogramVec
}

// NewMetrics registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		plans: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_rescheduling_plans_ended_total",
			Help: "ReschedulingPlans that have ended, by policy and phase.",
		}, []string{"policy", "phase"}),
		evictions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_rescheduling_evictions_total",
			Help: "Evictions that were asked for, by policy and result: granted, delayed (a PodDisruptionBudget), refused, error.",
		}, []string{"policy", "result"}),
		waited: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_rescheduling_beneficiary_pending_seconds",
			Help: "How long pods had been pending when they were bound to the node that a plan made room on for them, by policy. How long they " +
				"would have been without it nobody knows.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 10),
		}, []string{"policy"}),
	}
	r.MustRegister(m.plans, m.evictions, m.waited)
	return m
}

// Kinds of budgets, as they stand in metrics.
const (
	budgetRate         = "rate"
	budgetSelectedRate = "selectedRate"
	budgetSelectedDown = "selectedDown"
)

// Allowance is how much of a budget is left.
type Allowance struct {
	Budget    string `json:"budget"` // rate, selectedRate or selectedDown
	Namespace string `json:"namespace,omitempty"`
	Selector  string `json:"selector,omitempty"`
	// Domain is the value of its topologyKey on the nodes of the pods. Policies names the policies whose plans
	// it bounds, with commas.
	Domain   string `json:"domain,omitempty"`
	Policies string `json:"policies,omitempty"`
	// Left is how many pods may be evicted now, or go down besides the ones that are down. It is zero or less
	// when the budget is used up, and negative when more are down than should be.
	Left int `json:"left"`
}

// Left returns the rest of all budgets that have a bound and are not of a single plan. Rates are left out while
// past evictions are unknown, as in a process that does not lead.
func (l *Limits) Left(c *cluster.Cluster, record *evictions.Record, now time.Time) (all []Allowance) {
	past, known := record.Evictions(), record.Ready()
	if left := l.RateLeft(past, now); left != AnyNumber && known {
		all = append(all, Allowance{Budget: budgetRate, Left: left})
	}
	for i := range l.Selected {
		s := &l.Selected[i]
		for _, domain := range s.domains(c.Snapshot()) {
			a := Allowance{Namespace: s.Namespace, Selector: s.Name, Domain: domain, Policies: s.policies()}
			if left := s.RateLeft(domain, past, now); left != AnyNumber && known {
				a.Budget, a.Left = budgetSelectedRate, left
				all = append(all, a)
			}
			if s.MaxDown != nil {
				most, down := s.mayBeDown(c, domain)
				a.Budget, a.Left = budgetSelectedDown, most-down
				all = append(all, a)
			}
		}
	}
	return all
}

// budgetLeft shows what is left of budgets.
type budgetLeft struct {
	executor *Executor
	clock    clock.PassiveClock
	desc     *prometheus.Desc
}

// NewBudgetLeft shows in metrics what is left of the budgets of an Executor.
func NewBudgetLeft(e *Executor) prometheus.Collector {
	return &budgetLeft{e, e.Clock, prometheus.NewDesc(
		"muster_rescheduling_budget_left",
		"Pods that may still be evicted now (rate, selectedRate), or go down besides the ones that are down (selectedDown), by budget.",
		[]string{"budget", "namespace", "selector", "domain", "policies"}, nil,
	)}
}

// Describe implements [prometheus.Collector].
func (b *budgetLeft) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- b.desc }

// Collect implements [prometheus.Collector].
func (b *budgetLeft) Collect(values chan<- prometheus.Metric) {
	for _, a := range b.executor.Limits.Left(b.executor.Cluster, b.executor.Record, b.clock.Now()) {
		labels := []string{a.Budget, a.Namespace, a.Selector, a.Domain, a.Policies}
		values <- prometheus.MustNewConstMetric(b.desc, prometheus.GaugeValue, float64(a.Left), labels...)
	}
}
