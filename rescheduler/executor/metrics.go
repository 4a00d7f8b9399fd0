package executor

import "github.com/prometheus/client_golang/prometheus"

// Metrics are those of plans that are carried out.
type Metrics struct {
	plans     *prometheus.CounterVec
	evictions *prometheus.CounterVec
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
	}
	r.MustRegister(m.plans, m.evictions)
	return m
}
