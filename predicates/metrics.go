package predicates

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/cluster"
)

// StoreMetrics are the metrics of all verdict stores of a process.
type StoreMetrics struct {
	lookups   *prometheus.CounterVec
	evaluated *prometheus.CounterVec
	classes   *prometheus.GaugeVec
	bytes     *prometheus.GaugeVec
}

// Results of asking for a class.
const (
	lookupHit     = "hit"
	lookupMiss    = "miss"     // the class is new, or was dropped
	lookupNoClass = "no_class" // the pod has none and is evaluated for itself
)

// NewStoreMetrics registers the metrics.
func NewStoreMetrics(r prometheus.Registerer) *StoreMetrics {
	m := &StoreMetrics{
		lookups: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_equivalence_lookups_total",
			Help: "Calls by whether the verdicts of the pod's equivalence class were remembered: hit, miss or no_class.",
		}, []string{"profile", "result"}),
		evaluated: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_equivalence_evaluations_total",
			Help: "Verdicts on a node evaluated for a class, by predicate and by what changed: an aspect, or node when the node is new to the class.",
		}, []string{"profile", "predicate", "cause"}),
		classes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_equivalence_classes",
			Help: "Equivalence classes whose verdicts are remembered.",
		}, []string{"profile"}),
		bytes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_equivalence_bytes",
			Help: "Memory that the remembered verdicts take.",
		}, []string{"profile"}),
	}
	r.MustRegister(m.lookups, m.evaluated, m.classes, m.bytes)
	return m
}

// report adds what the checks have counted since the last report.
func (m *StoreMetrics) report(profile string, checks []keptCheck) {
	for i := range checks {
		c := &checks[i]
		for cause, count := range &c.evaluated {
			if count == 0 {
				continue
			}
			name := "node"
			if cause != causeNode {
				name = cluster.Aspect(1 << cause).String()
			}
			m.evaluated.WithLabelValues(profile, c.name, name).Add(float64(count))
			c.evaluated[cause] = 0
		}
	}
}

func (m *StoreMetrics) observe(profile string, classes int, bytes int64) {
	m.classes.WithLabelValues(profile).Set(float64(classes))
	m.bytes.WithLabelValues(profile).Set(float64(bytes))
}
