package config

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeLoad is where the figures come from that LoadAware goes by: what nodes and their pods
// use.
type NodeLoad struct {
	// Source is the one source that is used: None, NodeMetric, Metrics or Prometheus. Change it when the cluster has
	// no Koordinator. Defaults to NodeMetric when a profile runs LoadAware, or the rescheduler relieves or balances
	// nodes, else to None.
	Source LoadSource `json:"source"`
	// Interval is the time between two looks at Metrics or Prometheus, from 1s on. Statistics are over what was seen
	// then. Lower it when the source measures more often. Defaults to 15s with source Metrics, as metrics-server measures
	// that often, and else to 30s.
	Interval metav1.Duration `json:"interval"`
	// Prometheus says what is asked of a Prometheus, for source Prometheus.
	Prometheus LoadPrometheus `json:"prometheus"`
	// NodeMetrics says what muster does for NodeMetric objects beside reading them.
	NodeMetrics LoadNodeMetrics `json:"nodeMetrics"`
}

// LoadSource is a source of figures.
type LoadSource string

const (
	// LoadSourceNone is no source. LoadAware cannot run without one.
	LoadSourceNone LoadSource = "None"
	// LoadSourceNodeMetric are the NodeMetric objects of slo.koordinator.sh, which
	// Koordinator's koordlet writes, or a muster with another source.
	LoadSourceNodeMetric LoadSource = "NodeMetric"
	// LoadSourceMetrics is the API metrics.k8s.io, which metrics-server serves.
	LoadSourceMetrics LoadSource = "Metrics"
	// LoadSourcePrometheus is a Prometheus server.
	LoadSourcePrometheus LoadSource = "Prometheus"
)

// LongestStatistic is the longest time that muster keeps statistics over, where a source has none of its own, or is
// asked for them.
const LongestStatistic = 2 * time.Hour

// LoadPrometheus says what is asked of a Prometheus.
type LoadPrometheus struct {
	// URL is the address of the server, with the path that its API is under, if any. Required
	// for source Prometheus.
	URL string `json:"url,omitempty"`
	// CAFile is the path of the PEM certificates that the server's certificate must be signed by.
	// Empty means the system's certificates.
	CAFile string `json:"caFile,omitempty"`
	// BearerTokenFile is the path of the token that is sent. It is read again when it changes.
	// Empty means none.
	BearerTokenFile string `json:"bearerTokenFile,omitempty"`
	// Window is the time that usage is an average over, and stands for $window in queries. A
	// pod that is younger is not yet known well. Raise it when Prometheus scrapes less often than every 30s: it
	// should be four times that. Defaults to 2m.
	Window metav1.Duration `json:"window"`
	// Percentiles says where statistics come from: Own (default) or Subqueries. Change it when Prometheus can bear more
	// queries and statistics are to be whole as soon as muster starts.
	Percentiles PrometheusPercentiles `json:"percentiles"`
	// Node names the series of nodes' usage.
	Node PrometheusNode `json:"node"`
	// Pod names the series of pods' usage.
	Pod PrometheusPod `json:"pod"`
}

// PrometheusPercentiles says where statistics come from: averages and percentiles over
// 5, 10 and 30 minutes, and over what profiles and NodeMetrics ask for.
type PrometheusPercentiles string

const (
	// PercentilesOwn works them out from what muster has seen. They cost Prometheus nothing,
	// and are over what there is while muster has not run for as long.
	PercentilesOwn PrometheusPercentiles = "Own"
	// PercentilesSubqueries asks Prometheus, by avg_over_time and quantile_over_time of the
	// queries of nodes: 15 more queries for each, and 5 for each other time that somebody asks for.
	PercentilesSubqueries PrometheusPercentiles = "Subqueries"
)

// PrometheusNode names the series of nodes' usage. The label node says which node a series is of; where there is none, the
// label instance does, without the port. PromQL's label_replace makes one of another. Series without a node are left out.
type PrometheusNode struct {
	// Queries are PromQL by resource, each with one series for a node: cores of cpu, bytes of
	// memory. An empty one leaves its resource out. A node counts as measured when all are
	// answered for it. Defaults to those for node_exporter, of cpu and memory.
	Queries map[corev1.ResourceName]string `json:"queries"`
	// Pressure is PromQL by resource, cpu or memory, each with series for nodes: the part of the time, from 0 to
	// 1, in which their processes wait for it, as in rate(node_pressure_cpu_waiting_seconds_total[$window]). Of
	// several series of a node the greatest counts, so that throttled containers can be a query, too. Defaults to
	// none.
	Pressure map[corev1.ResourceName]string `json:"pressure,omitempty"`
}

// PrometheusPod names the series of pods' usage. The labels namespace and pod say which pod a series is of; PromQL's
// label_replace makes them of others.
type PrometheusPod struct {
	// Queries are PromQL by resource, each with one series for a pod. An empty one leaves its
	// resource out. Defaults to those for cAdvisor, of cpu and memory.
	Queries map[corev1.ResourceName]string `json:"queries"`
}

// LoadNodeMetrics says what muster does for NodeMetric objects beside reading them. The
// leader does it.
type LoadNodeMetrics struct {
	// Manage has muster create a NodeMetric for each node, configure it by the ConfigMap
	// slo-controller-config, and delete it once the node is gone. With source Metrics or Prometheus muster
	// writes what that says into the status, too, for others to read. Leave it to Koordinator's
	// koord-manager and koordlet where they are. Defaults to false.
	Manage bool `json:"manage"`
	// ConfigNamespace is the namespace of that ConfigMap. Defaults to koordinator-system.
	ConfigNamespace string `json:"configNamespace"`
}

// Reports reports whether muster writes what its source says into NodeMetrics.
func (l *NodeLoad) Reports() bool {
	return l.NodeMetrics.Manage && (l.Source == LoadSourceMetrics || l.Source == LoadSourcePrometheus)
}

func baseLoad() NodeLoad {
	return NodeLoad{
		Prometheus: LoadPrometheus{
			Window:      seconds(120),
			Percentiles: PercentilesOwn,
			Node: PrometheusNode{
				Queries: map[corev1.ResourceName]string{
					corev1.ResourceCPU:    `sum by (instance) (rate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[$window]))`,
					corev1.ResourceMemory: `node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes`,
				},
			},
			Pod: PrometheusPod{
				Queries: map[corev1.ResourceName]string{
					corev1.ResourceCPU:    `sum by (namespace, pod) (rate(container_cpu_usage_seconds_total{container!="",pod!=""}[$window]))`,
					corev1.ResourceMemory: `sum by (namespace, pod) (container_memory_working_set_bytes{container!="",pod!=""})`,
				},
			},
		},
		NodeMetrics: LoadNodeMetrics{ConfigNamespace: "koordinator-system"},
	}
}

// setDefaults chooses the source, once it is known what the profiles run, and whether hot
// nodes are relieved.
func (l *NodeLoad) setDefaults(profiles []Profile, relieve bool) {
	if l.Source == "" {
		l.Source = LoadSourceNone
		if relieve || slices.ContainsFunc(profiles, func(p Profile) bool { return p.runsLoadAware() }) {
			l.Source = LoadSourceNodeMetric
		}
	}
	if l.Interval.Duration == 0 {
		l.Interval = seconds(30)
		if l.Source == LoadSourceMetrics {
			l.Interval = seconds(15)
		}
	}
}
