package loadaware

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Collector tells, when it is asked, how nodes stand: how many of them by utilisation, as it was
// measured and as it is estimated, and how many refuse pods. There is no series by node.
type Collector struct {
	profiles              *predicates.Profiles
	cluster               *cluster.Cluster
	utilisation, estimate shares
	refusing              *prometheus.Desc
}

// shares describe a histogram of shares of what nodes offer, and the same in percent: the former name, which goes away with
// the next release.
type shares struct{ ratio, percent *prometheus.Desc }

func newShares(ratio, percent, help string) shares {
	labels := []string{"profile", "resource"}
	return shares{
		ratio:   prometheus.NewDesc(ratio, help+", as a share of what they offer.", labels, nil),
		percent: prometheus.NewDesc(percent, "Deprecated: "+ratio+" in percent.", labels, nil),
	}
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector returns one for the profiles in force that run LoadAware.
func NewCollector(profiles *predicates.Profiles, c *cluster.Cluster) *Collector {
	return &Collector{
		profiles: profiles, cluster: c,
		utilisation: newShares("muster_load_node_utilization_ratio", "muster_load_node_utilization_percent",
			"Nodes by what was measured of a resource"),
		estimate: newShares("muster_load_node_estimate_ratio", "muster_load_node_estimate_percent",
			"Nodes by what they are estimated to use of a resource with all pods that are there or about to come"),
		refusing: prometheus.NewDesc("muster_load_refusing_nodes",
			"Nodes that refuse even a pod that uses nothing, by profile and reason.", []string{"profile", "reason"}, nil),
	}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{
		c.utilisation.ratio, c.utilisation.percent, c.estimate.ratio, c.estimate.percent, c.refusing,
	} {
		descriptions <- description
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	snap := c.cluster.Snapshot()
	for _, store := range c.profiles.Stores() {
		if l := Of(store.Profile); l != nil {
			c.collect(metrics, l, snap)
		}
	}
}

func (c *Collector) collect(metrics chan<- prometheus.Metric, l *LoadAware, snap *cluster.Snapshot) {
	n := len(l.resources.names)
	measured, estimated := make([]distribution, n), make([]distribution, n)
	refusing := make([]int, len(l.reasons()))
	nothing, used := make(vector, n), make(vector, n)
	for node := range snap.Nodes() {
		w := l.of(node)
		if reason := w.filter[anyone].against("", nothing); reason >= 0 {
			refusing[reason]++
		}
		a := l.account(node, w.custom, nil)
		if a.measured == never {
			continue
		}
		l.resources.read(used, &node.Usage.Node)
		for i, offered := range a.allocatable {
			if offered > 0 {
				measured[i].add(float64(used[i]) / float64(offered))
				estimated[i].add(float64(a.score[anyone].at(i)) / float64(offered))
			}
		}
	}
	for i, name := range l.resources.names {
		measured[i].tell(metrics, c.utilisation, l.profile, string(name))
		estimated[i].tell(metrics, c.estimate, l.profile, string(name))
	}
	for i, reason := range l.reasons() {
		metrics <- prometheus.MustNewConstMetric(c.refusing, prometheus.GaugeValue, float64(refusing[i]), l.profile, reason)
	}
}

// distribution counts nodes by tenths of what they offer.
type distribution struct {
	upTo  [10]uint64 // nodes that use at most one tenth more than the index
	count uint64
	sum   float64
}

func (d *distribution) add(share float64) {
	for i := range d.upTo {
		if share <= float64(i+1)/10 {
			d.upTo[i]++
		}
	}
	d.count++
	d.sum += share
}

func (d *distribution) tell(metrics chan<- prometheus.Metric, as shares, labels ...string) {
	for description, unit := range map[*prometheus.Desc]float64{as.ratio: 1, as.percent: 100} {
		buckets := make(map[float64]uint64, len(d.upTo))
		for i, nodes := range d.upTo {
			buckets[unit*float64(i+1)/10] = nodes
		}
		metrics <- prometheus.MustNewConstHistogram(description, d.count, unit*d.sum, buckets, labels...)
	}
}
