package app

import "github.com/prometheus/client_golang/prometheus"

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
