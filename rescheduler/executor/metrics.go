package executor

import "github.com/prometheus/client_golang/prometheus"

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
