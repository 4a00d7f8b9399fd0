package leadership

import "github.com/prometheus/client_golang/prometheus"

// Results of an attempt to write the lease, as they stand in metrics.
const (
	resultOK    = "ok"
	resultError = "error"
)

type metrics struct {
	leader  prometheus.Gauge
	writes  *prometheus.HistogramVec
	refused prometheus.Counter
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_leader",
			Help: "1 while this process holds the lease by its own clock and may act, else 0.",
		}),
		writes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "muster_lease_write_duration_seconds",
			Help: "Time that the API server took to take or renew the lease, by result: ok, or error. The fence closes when none was ok for " +
				"two thirds of leaderElection.leaseDuration.",
			// 1 ms to 16 s: longer than that the client does not wait.
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
		}, []string{"result"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_leader_writes_refused_total",
			Help: "Requests that were not sent to the API server, or given up, because this process did not lead any more.",
		}),
	}
	for _, result := range []string{resultOK, resultError} {
		m.writes.WithLabelValues(result)
	}
	r.MustRegister(m.leader, m.writes, m.refused)
	return m
}
