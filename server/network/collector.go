package network

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

// Collector tells, when it is asked, how whole the domains of levels in use are. There is no series by domain. It is safe for
// concurrent use, and takes time for each node and level.
type Collector struct {
	cluster *cluster.Cluster
	gangs   func() []core.Summary

	domains, whole, empty *prometheus.Desc
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns one for a cluster and the gangs that there are, which are asked for in each scrape.
func NewCollector(c *cluster.Cluster, gangs func() []core.Summary) *Collector {
	by := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, []string{"levels"}, nil)
	}
	const levels = ", by the keys of the labels that tell them apart, the uppermost level first."
	return &Collector{
		cluster: c, gangs: gangs,
		domains: by("muster_topology_domains", "Racks and the like"+levels),
		whole: by("muster_topology_whole_domains",
			"Racks and the like whose ready nodes have no pods but those of DaemonSets"+levels),
		empty: by("muster_topology_most_empty_nodes",
			"The largest number of ready nodes of one rack or the like that have no pods but those of DaemonSets"+levels),
	}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- c.domains
	descriptions <- c.whole
	descriptions <- c.empty
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	gangs := c.gangs()
	snap := c.cluster.Snapshot()
	networks, _ := InUse(snap, gangs)
	levels := LevelsOf(networks)
	for i, w := range Measure(snap.Nodes(), levels) {
		for desc, count := range map[*prometheus.Desc]int{c.domains: w.Domains, c.whole: w.Whole, c.empty: w.MostEmpty} {
			metrics <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(count), levels[i].String())
		}
	}
}
