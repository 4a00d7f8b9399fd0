package cluster

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	assumed     *prometheus.CounterVec
	watchErrors *prometheus.CounterVec
	ownersAsked *prometheus.CounterVec
}

func newMetrics() *metrics {
	m := &metrics{
		assumed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_cluster_assumptions_total",
			Help: "Assumed pods by what became of them: confirmed, refuted, released or expired.",
		}, []string{"outcome"}),
		watchErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_cluster_watch_errors_total",
			Help: "Lists and watches that the API server refused or did not answer, by resource.",
		}, []string{"resource"}),
		ownersAsked: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_cluster_owners_asked_total",
			Help: "Owners of pods that no watch had shown and the API server was asked for, by its answer: present, absent, denied or failed.",
		}, []string{"answer"}),
	}
	for _, answer := range answers() {
		m.ownersAsked.WithLabelValues(string(answer))
	}
	for _, outcome := range []string{outcomeConfirmed, outcomeRefuted, outcomeReleased, outcomeExpired} {
		m.assumed.WithLabelValues(outcome)
	}
	return m
}

// register registers all metrics of a cluster.
func (m *metrics) register(r prometheus.Registerer, c *Cluster) {
	counted := func(name, help string, count func() int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return float64(count())
		})
	}
	r.MustRegister(
		m.assumed,
		m.watchErrors,
		m.ownersAsked,
		counted("muster_cluster_nodes", "Nodes in the view of the cluster.", func() int { return len(c.view.index) }),
		counted("muster_cluster_placed_pods", "Pods that count on a node, assumed ones included.", func() int { return len(c.ledger.placed) }),
		counted("muster_cluster_assumed_pods", "Pods that count on a node before the watch has shown them there.",
			func() int { return len(c.ledger.assumed) }),
		counted("muster_cluster_pending_pods", "Pods without a node.", func() int { return len(c.waiting.pending) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "muster_cluster_changes_total",
			Help: "Changes applied to the view of the cluster; its generation.",
		}, func() float64 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return float64(c.view.generation)
		}),
	)
}
