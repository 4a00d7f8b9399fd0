package loop

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/reservation"
)

type metrics struct{ planning *prometheus.HistogramVec }

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{planning: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "muster_rescheduling_planning_seconds",
		Help:    "How long it took to search for a plan, by policy.",
		Buckets: prometheus.ExponentialBuckets(0.001, 4, 8),
	}, []string{"policy"})}
	r.MustRegister(m.planning)
	return m
}

// plansByPhase shows how many plans there are.
type plansByPhase struct {
	reservations *reservation.Keeper
	desc         *prometheus.Desc
}

func newPlansByPhase(k *reservation.Keeper) *plansByPhase {
	return &plansByPhase{
		k, prometheus.NewDesc("muster_rescheduling_plans", "ReschedulingPlans, by policy and phase.", []string{"policy", "phase"}, nil),
	}
}

// Describe implements [prometheus.Collector].
func (p *plansByPhase) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- p.desc }

// Collect implements [prometheus.Collector].
func (p *plansByPhase) Collect(values chan<- prometheus.Metric) {
	type kind struct {
		policy v1alpha1.Policy
		phase  v1alpha1.Phase
	}
	counts := map[kind]int{}
	for _, plan := range p.reservations.Plans() {
		counts[kind{plan.Spec.Policy, plan.Status.Phase}]++
	}
	for kind, count := range counts {
		values <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, float64(count), string(kind.policy), string(kind.phase))
	}
}
