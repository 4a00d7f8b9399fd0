package loadaware

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/cluster"
)

// Annotations of nodes. Invalid entries are ignored, one by one, counted and logged.
const (
	// AnnotationUsageThresholds holds thresholds of the node as JSON, in the sections usageThresholds,
	// prodUsageThresholds and aggregatedUsage (usageThresholds, usageAggregationType,
	// usageAggregatedDuration). A section that is there takes the place of the one of the arguments.
	AnnotationUsageThresholds = "scheduling.koordinator.sh/usage-thresholds"
	// AnnotationRawAllocatable holds a ResourceList as JSON. Where something makes a node
	// offer more than it has, it says what the node has: it goes before status.allocatable,
	// resource by resource.
	AnnotationRawAllocatable = "node.koordinator.sh/raw-allocatable"
)

// custom is the content of a node's annotations. It depends on the API object alone.
type custom struct {
	object     *corev1.Node
	thresholds *thresholds // nil for the thresholds of the arguments
	raw        []rawAmount
	wrong      []wrongAnnotation
}

// rawAmount is the raw amount of the resource with that index on a node.
type rawAmount struct {
	resource int
	amount   int64
}

// wrongAnnotation is one that is ignored, in whole or in part, and why.
type wrongAnnotation struct {
	name string
	err  error
}

func (l *LoadAware) readAnnotations(object *corev1.Node) *custom {
	c := &custom{object: object}
	if text, ok := object.Annotations[AnnotationUsageThresholds]; ok {
		own := ownThresholds{resources: &l.resources}
		thresholds, err := own.read(text, l.thresholds)
		c.thresholds = &thresholds
		c.note(AnnotationUsageThresholds, err)
	}
	if text, ok := object.Annotations[AnnotationRawAllocatable]; ok {
		var err error
		c.raw, err = l.rawAmounts(text)
		c.note(AnnotationRawAllocatable, err)
	}
	return c
}

// longest is how long an annotation may be that is read, in bytes.
const longest = 4096

func read(text string, into any) error {
	if len(text) > longest {
		return fmt.Errorf("it has %d bytes; it may have %d", len(text), longest)
	}
	return bounded.Decode([]byte(text), into)
}

func (c *custom) note(name string, err error) {
	if err != nil {
		c.wrong = append(c.wrong, wrongAnnotation{name, err})
	}
}

// rawAmounts returns the amounts of the valid entries, and the errors in the others.
func (l *LoadAware) rawAmounts(text string) (given []rawAmount, err error) {
	entries := map[corev1.ResourceName]json.RawMessage{}
	if err := read(text, &entries); err != nil {
		return nil, err
	}
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		var quantity resource.Quantity
		path := field.NewPath(cut(string(name)))
		err := bounded.Decode(entries[name], &quantity)
		if err == nil && quantity.Sign() < 0 {
			err = errors.New("must not be negative")
		}
		if err != nil {
			errs = append(errs, field.Invalid(path, cut(string(entries[name])), err.Error()))
			continue
		}
		if at := slices.Index(l.resources.names, name); at >= 0 {
			amounts := cluster.ResourcesOf(corev1.ResourceList{name: quantity})
			given = append(given, rawAmount{at, clamped(l.resources.at[noClass][at].of(&amounts))})
		}
	}
	return given, errs[:min(len(errs), mostWrong)].ToAggregate()
}

// allocatable sets v to what the node offers to pods.
func (l *LoadAware) allocatable(v vector, node *cluster.Node, c *custom) {
	l.resources.read(v, &node.Allocatable)
	for _, raw := range c.raw {
		v[raw.resource] = raw.amount
	}
}

// Metrics counts the annotations that are not valid, for all profiles of a process.
type Metrics struct {
	ignored *prometheus.CounterVec
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{ignored: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "muster_load_ignored_annotations_total",
		Help: "Annotations of nodes that are ignored because they are not valid, in whole or in part, by profile and annotation, " +
			"once for each version of a node.",
	}, []string{"profile", "annotation"})}
	r.MustRegister(m.ignored)
	return m
}

// complaints remembers the nodes whose invalid annotations were reported.
type complaints struct {
	mu   sync.Mutex
	said map[int32]nodeVersion // by node index
}

type nodeVersion struct {
	uid     types.UID
	version string
}

// complain counts and logs annotations that are ignored, once for each version of a node.
func (l *LoadAware) complain(node *cluster.Node, wrong []wrongAnnotation) {
	version := nodeVersion{node.UID, node.ResourceVersion}
	l.complaints.mu.Lock()
	defer l.complaints.mu.Unlock()
	if said, ok := l.complaints.said[node.Index]; ok && said == version {
		return
	}
	l.complaints.said[node.Index] = version
	for _, w := range wrong {
		l.metrics.ignored.WithLabelValues(l.profile, w.name).Inc()
		l.log.Warn("annotation of a node ignored, in whole or in part", slog.String("profile", l.profile),
			slog.String("node", node.Name), slog.String("annotation", w.name), slog.Any("err", w.err))
	}
}
