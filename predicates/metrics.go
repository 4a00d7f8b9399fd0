package predicates

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/cluster"
)

// StoreMetrics are the metrics of all verdict stores of a process.
type StoreMetrics struct {
	lookups    *prometheus.CounterVec
	evaluated  *prometheus.CounterVec
	evaluation *prometheus.HistogramVec
	classes    *prometheus.GaugeVec
	bytes      *prometheus.GaugeVec
}

// Results of asking for a class.
const (
	lookupHit     = "hit"
	lookupMiss    = "miss"     // the class is new, or was dropped, or the journal does not reach back
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
			Help: "Verdicts on a node evaluated for a class, by predicate and by what changed: an aspect of the node, a kind of object, others " +
				"when it was another node, or node when the class is judged on the node for the first time.",
		}, []string{"profile", "predicate", "cause"}),
		evaluation: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "muster_equivalence_evaluation_seconds",
			Help:    "Time to bring what is remembered of a class up to date for a call, by result of the lookup. Judging more nodes is not in it.",
			Buckets: prometheus.ExponentialBuckets(1e-6, 4, 10),
		}, []string{"profile", "result"}),
		classes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_equivalence_classes",
			Help: "Equivalence classes whose verdicts are remembered.",
		}, []string{"profile"}),
		bytes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_equivalence_bytes",
			Help: "Memory that the remembered verdicts take.",
		}, []string{"profile"}),
	}
	r.MustRegister(m.lookups, m.evaluated, m.evaluation, m.classes, m.bytes)
	return m
}

// report adds what has been counted since the last report, by predicate of the profile.
func (m *StoreMetrics) report(p *Profile, evaluated []causes) {
	for i := range evaluated {
		for cause, count := range &evaluated[i] {
			if count == 0 {
				continue
			}
			m.evaluated.WithLabelValues(p.Name, p.predicates[i].Name(), causeName(cause)).Add(float64(count))
			evaluated[i][cause] = 0
		}
	}
}

func causeName(cause int) string {
	switch cause {
	case causeNode:
		return "node"
	case causeOthers:
		return "others"
	default:
		return cluster.Aspect(1 << cause).String()
	}
}

func (m *StoreMetrics) observe(profile string, classes int, bytes int64) {
	m.classes.WithLabelValues(profile).Set(float64(classes))
	m.bytes.WithLabelValues(profile).Set(float64(bytes))
}

// forget takes off what was observed last of a profile.
func (m *StoreMetrics) forget(profile string) {
	m.classes.DeleteLabelValues(profile)
	m.bytes.DeleteLabelValues(profile)
}
