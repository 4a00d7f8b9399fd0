package source

import (
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/cluster"
)

// keeperMetrics are worked out when they are asked for.
type keeperMetrics struct {
	keeper               *Keeper
	age, expired, silent *prometheus.Desc
}

func newKeeperMetrics(k *Keeper) *keeperMetrics {
	return &keeperMetrics{
		keeper: k,
		age: prometheus.NewDesc(
			"muster_load_usage_age_seconds", "Age of the figures of nodes that have any; quantile 1 is the oldest.", nil, nil,
		),
		expired: prometheus.NewDesc("muster_load_expired_nodes", "Nodes whose figures are older than a profile believes.", nil, nil),
		silent:  prometheus.NewDesc("muster_load_silent_nodes", "Nodes that the source knows and has never measured.", nil, nil),
	}
}

func (m *keeperMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{m.age, m.expired, m.silent} {
		descriptions <- description
	}
}

func (m *keeperMetrics) Collect(metrics chan<- prometheus.Metric) {
	ages := slices.Sorted(maps.Values(m.keeper.Ages()))
	silent, _ := slices.BinarySearch(ages, 0)
	ages = ages[silent:]
	quantiles := map[float64]float64{}
	var sum time.Duration
	for _, age := range ages {
		sum += age
	}
	for _, q := range []float64{0.5, 0.99, 1} {
		if len(ages) > 0 {
			quantiles[q] = ages[int(q*float64(len(ages)-1))].Seconds()
		}
	}
	metrics <- prometheus.MustNewConstSummary(m.age, uint64(len(ages)), sum.Seconds(), quantiles)
	metrics <- prometheus.MustNewConstMetric(m.expired, prometheus.GaugeValue, float64(m.keeper.expired(ages)))
	metrics <- prometheus.MustNewConstMetric(m.silent, prometheus.GaugeValue, float64(silent))
}

// answersMetrics tell what a source that answers says nothing of. Looks are taken one at a time.
type answersMetrics struct {
	log        *slog.Logger
	series     *prometheus.GaugeVec
	unmeasured prometheus.Gauge
	silent     map[string]bool // queries that measured nothing the last time
}

func newAnswersMetrics(log *slog.Logger, registerer prometheus.Registerer, source string) *answersMetrics {
	labels := prometheus.Labels{"source": source}
	m := &answersMetrics{
		log: log, silent: map[string]bool{},
		series: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_load_query_series",
			Help: "Series of nodes or pods in the last answer to a query, by its place in the configuration. " +
				"With 0 it measures nothing, or its series have not the labels that say whose they are.",
			ConstLabels: labels,
		}, []string{"query"}),
		unmeasured: prometheus.NewGauge(prometheus.GaugeOpts{
			Name:        "muster_load_unmeasured_nodes",
			Help:        "Nodes of the cluster that a source which is polled had no figures of when it last answered.",
			ConstLabels: labels,
		}),
	}
	registerer.MustRegister(m.series, m.unmeasured)
	return m
}

// observe takes what a source answered.
func (m *answersMetrics) observe(reading *Reading, snap *cluster.Snapshot) {
	for _, query := range slices.Sorted(maps.Keys(reading.Series)) {
		series := reading.Series[query]
		m.series.WithLabelValues(query).Set(float64(series))
		switch silent := series == 0; {
		case silent && !m.silent[query]:
			m.log.Warn("a query measures nothing", slog.String("query", query))
		case !silent && m.silent[query]:
			m.log.Info("a query measures again", slog.String("query", query))
		}
		m.silent[query] = series == 0
	}
	unmeasured := 0
	for node := range snap.Nodes() {
		if _, measured := reading.Nodes[node.Name]; !measured {
			unmeasured++
		}
	}
	m.unmeasured.Set(float64(unmeasured))
}
