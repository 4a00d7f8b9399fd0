package nodemetric

import "github.com/prometheus/client_golang/prometheus"

// The kinds of writes.
const (
	created  = "create"
	deleted  = "delete"
	specced  = "spec"
	reported = "status"
)

// Metrics are the metrics of a Controller and of a Reporter.
type Metrics struct {
	writes      *prometheus.CounterVec
	configErr   prometheus.Counter
	configValid prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_nodemetric_writes_total",
			Help: "NodeMetrics that were written, by what was done: create, delete, spec or status.",
		}, []string{"what"}),
		configErr: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_nodemetric_config_errors_total",
			Help: "Versions of the ConfigMap slo-controller-config that were wrong, in whole or in part.",
		}),
		configValid: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_nodemetric_config_valid",
			Help: "Whether the ConfigMap slo-controller-config is right, or absent.",
		}),
	}
	for _, what := range []string{created, deleted, specced, reported} {
		m.writes.WithLabelValues(what)
	}
	r.MustRegister(m.writes, m.configErr, m.configValid)
	return m
}
