package access

import "github.com/prometheus/client_golang/prometheus"

// Why a request is refused, as it stands in metrics.
const (
	reasonClient      = "client_name"
	reasonOrigin      = "origin"
	reasonHost        = "host"
	reasonContentType = "content_type"
)

// Metrics count the requests that the guards of a process refuse, and say until when its clients can call.
type Metrics struct {
	refused *prometheus.CounterVec
	expires *prometheus.GaugeVec
}

// NewMetrics registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_http_requests_refused_total",
			Help: "Requests that were refused before anything was read of them, by the address (field of the configuration) and the reason: " +
				"client_name, origin, host or content_type.",
		}, []string{"listener", "reason"}),
		expires: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_client_certificate_expiration_timestamp_seconds",
			Help: "When the certificate ends that the last client showed, by the address (field of the configuration). +Inf when none was shown.",
		}, []string{"listener"}),
	}
	r.MustRegister(m.refused, m.expires)
	return m
}
