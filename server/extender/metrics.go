package extender

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
