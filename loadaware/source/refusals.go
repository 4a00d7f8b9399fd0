package source

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// Refusal is a figure that nobody can believe. Its node or pod counts as not measured: a node keeps its last
// figures, which get older, and a pod counts with its estimate.
type Refusal struct {
	// Of is the name of a node, or namespace/name of a pod.
	Of  string
	Pod bool
	// Resource is the resource of the figure; Value is the figure, "" when it is missing.
	Resource corev1.ResourceName
	Value    string
	Reason   Absurdity
}

// Absurdity is why a figure cannot be believed.
type Absurdity string

// The absurdities, which are values of a label.
const (
	// BelowZero is less than nothing.
	BelowZero Absurdity = "below_zero"
	// NotANumber is NaN.
	NotANumber Absurdity = "not_a_number"
	// Infinite is an infinity, or more than can be counted.
	Infinite Absurdity = "infinite"
	// Missing is a figure that is not there while others of the node are.
	Missing Absurdity = "missing"
	// SeveralSeries is a second answer about the same.
	SeveralSeries Absurdity = "several_series"
	// Unreadable is a NodeMetric that makes no sense as a whole.
	Unreadable Absurdity = "unreadable"
)

// Refusals counts figures that are refused, and tells of each node and pod once, until it is measured
// again. It is safe for concurrent use.
type Refusals struct {
	log     *slog.Logger
	refused *prometheus.CounterVec

	mu   sync.Mutex
	said map[string]map[subject]bool // by node, or by "" of all nodes together
}

// subject is a node, or a pod, that was told of.
type subject struct {
	pod  bool
	name string
}

// mostTold bounds how many refusals of one look are logged.
const mostTold = 20

// NewRefusals returns one that has seen nothing. Without a registerer it counts for nobody.
func NewRefusals(log *slog.Logger, registerer prometheus.Registerer, source string) *Refusals {
	r := &Refusals{
		log: log, said: map[string]map[subject]bool{},
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_load_refused_figures_total",
			Help: "Figures that nobody can believe, so that what they are of counts as not measured: of a node or a pod, " +
				"by reason (below_zero, not_a_number, infinite, missing, several_series, unreadable).",
			ConstLabels: prometheus.Labels{"source": source},
		}, []string{"of", "reason"}),
	}
	for _, reason := range []Absurdity{BelowZero, NotANumber, Infinite, Missing, SeveralSeries, Unreadable} {
		r.refused.WithLabelValues("node", string(reason))
	}
	if registerer != nil {
		registerer.MustRegister(r.refused)
	}
	return r
}

// Unreadable counts a node that says something which makes no sense. It is logged elsewhere.
func (r *Refusals) Unreadable() { r.refused.WithLabelValues("node", string(Unreadable)).Inc() }

// Look takes all refusals of a look at all nodes.
func (r *Refusals) Look(all []Refusal) { r.Node("", all) }

// Node takes all refusals of what one node said, its pods included; none when all can be believed.
func (r *Refusals) Node(node string, all []Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, now, told := r.said[node], map[subject]bool{}, 0
	for i := range all {
		refusal, kind := &all[i], "node"
		if refusal.Pod {
			kind = "pod"
		}
		r.refused.WithLabelValues(kind, string(refusal.Reason)).Inc()
		of := subject{refusal.Pod, refusal.Of}
		if before[of] || now[of] {
			now[of] = true
			continue
		}
		now[of] = true
		if told++; told <= mostTold {
			log := r.log.With(slog.String("node", shorten(refusal.Of)))
			if refusal.Pod {
				log = r.log.With(slog.String("pod", shorten(refusal.Of)))
			}
			log.Warn("figure refused: what it is of is not measured",
				slog.String("resource", shorten(string(refusal.Resource))), slog.String("value", shorten(refusal.Value)),
				slog.String("reason", string(refusal.Reason)))
		}
	}
	if more := told - mostTold; more > 0 {
		r.log.Warn("more figures refused", slog.Int("lines", more))
	}
	if delete(r.said, node); len(now) > 0 {
		r.said[node] = now
	}
}
