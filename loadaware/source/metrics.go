package source

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
