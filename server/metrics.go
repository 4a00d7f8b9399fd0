package server

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	duration *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_verb_duration_seconds",
			Help: "Time to answer a call of kube-scheduler, by verb and outcome, over HTTP and all profiles.",
			// 50 µs to 26 s: filter on a few nodes to a bind against a slow API server.
			Buckets: prometheus.ExponentialBuckets(0.00005, 2, 20),
		}, []string{"verb", "outcome"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_verb_calls_in_flight",
			Help: "Calls of kube-scheduler that are being answered, by verb.",
		}, []string{"verb"}),
	}
	r.MustRegister(m.duration, m.inFlight)
	return m
}

// Results of a change of the configuration file, as they stand in metrics.
const (
	reloadApplied = "applied"
	reloadRefused = "refused"
)

type reloadMetrics struct {
	reloads *prometheus.CounterVec
	refused prometheus.Gauge
}

func newReloadMetrics(r prometheus.Registerer) *reloadMetrics {
	m := &reloadMetrics{
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_config_reloads_total",
			Help: "Changes of the configuration file, by result: applied, or refused as not valid or in need of a restart.",
		}, []string{"result"}),
		refused: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_config_refused",
			Help: "1 while the configuration file is refused and another configuration is in force, else 0.",
		}),
	}
	for _, result := range []string{reloadApplied, reloadRefused} {
		m.reloads.WithLabelValues(result)
	}
	r.MustRegister(m.reloads, m.refused)
	return m
}
