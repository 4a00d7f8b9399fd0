package source

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/transport"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Prometheus asks a Prometheus server what nodes and pods use, by instant queries.
type Prometheus struct {
	config  config.LoadPrometheus
	api     prometheusv1.API
	pattern *regexp.Regexp
}

var _ Reader = (*Prometheus)(nil)

// NewPrometheus returns a Reader for a valid configuration, which counts resources by the names
// of the view. It fails when a file that the configuration names cannot be read.
func NewPrometheus(cfg config.LoadPrometheus) (*Prometheus, error) {
	pattern, err := regexp.Compile(cfg.Node.Pattern)
	if err != nil {
		return nil, fmt.Errorf("load.prometheus.node.pattern: %w", err)
	}
	through, err := transport.New(&transport.Config{
		UserAgent: "muster", BearerTokenFile: cfg.BearerTokenFile, TLS: transport.TLSConfig{CAFile: cfg.CAFile},
	})
	if err != nil {
		return nil, fmt.Errorf("load.prometheus: %w", err)
	}
	client, err := api.NewClient(api.Config{Address: cfg.URL, Client: &http.Client{Transport: through}})
	if err != nil {
		return nil, fmt.Errorf("load.prometheus.url: %w", err)
	}
	return &Prometheus{config: cfg, api: prometheusv1.NewAPI(client), pattern: pattern}, nil
}

// Read implements Reader. Figures are as old as the answers: Prometheus does not say when the samples
// behind an expression were taken, but forgets those of a target that is gone.
func (p *Prometheus) Read(ctx context.Context) (*Reading, error) {
	used, at, err := p.nodes(ctx, func(query string) string { return query })
	if err != nil {
		return nil, err
	}
	reading := &Reading{Nodes: make(map[string]NodeReading, len(used)), Pods: map[types.NamespacedName]cluster.Resources{}}
	for name, amounts := range used {
		reading.Nodes[name] = NodeReading{At: at, Window: p.config.Window.Duration, Used: cluster.ResourcesOf(amounts)}
	}
	if err := p.press(ctx, reading.Nodes); err != nil {
		return nil, err
	}
	if p.config.Percentiles == config.PercentilesSubqueries {
		if err := p.aggregate(ctx, reading.Nodes); err != nil {
			return nil, err
		}
	}
	pods, err := p.pods(ctx)
	for name, amounts := range pods {
		reading.Pods[name] = cluster.ResourcesOf(amounts)
	}
	return reading, err
}

// nodes asks the queries of nodes, changed in some way. Nodes that not all of them answer for
// are left out.
func (p *Prometheus) nodes(ctx context.Context, change func(query string) string) (map[string]corev1.ResourceList, time.Time, error) {
	used, at, asked := map[string]corev1.ResourceList{}, time.Time{}, 0
	for _, name := range slices.Sorted(maps.Keys(p.config.Node.Queries)) {
		query := p.config.Node.Queries[name]
		if query == "" {
			continue
		}
		asked++
		path := fmt.Sprintf("load.prometheus.node.queries[%s]", name)
		series, err := p.ask(ctx, path, change(p.filled(query)))
		if err != nil {
			return nil, at, err
		}
		for _, sample := range series {
			label := string(sample.Metric[model.LabelName(p.config.Node.Label)])
			found := p.pattern.FindStringSubmatch(label)
			if found == nil {
				continue
			}
			if err := enter(used, found[1], name, float64(sample.Value)); err != nil {
				return nil, at, fmt.Errorf("%s: %w", path, err)
			}
			at = sample.Timestamp.Time()
		}
	}
	maps.DeleteFunc(used, func(_ string, amounts corev1.ResourceList) bool { return len(amounts) < asked })
	return used, at, nil
}

// press asks how much processes of nodes have to wait. A node of which there is no answer is under no pressure.
func (p *Prometheus) press(ctx context.Context, nodes map[string]NodeReading) error {
	for _, name := range slices.Sorted(maps.Keys(p.config.Node.Pressure)) {
		query := p.config.Node.Pressure[name]
		if query == "" {
			continue
		}
		series, err := p.ask(ctx, fmt.Sprintf("load.prometheus.node.pressure[%s]", name), p.filled(query))
		if err != nil {
			return err
		}
		for _, sample := range series {
			found := p.pattern.FindStringSubmatch(string(sample.Metric[model.LabelName(p.config.Node.Label)]))
			value := 100 * float64(sample.Value)
			if found == nil || !(value > 0) { // not a number neither
				continue
			}
			if node, measured := nodes[found[1]]; measured {
				if name == corev1.ResourceCPU {
					node.Pressure.CPU = max(node.Pressure.CPU, min(value, 100))
				} else {
					node.Pressure.Memory = max(node.Pressure.Memory, min(value, 100))
				}
				nodes[found[1]] = node
			}
		}
	}
	return nil
}

func (p *Prometheus) pods(ctx context.Context) (map[types.NamespacedName]corev1.ResourceList, error) {
	used := map[types.NamespacedName]corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(p.config.Pod.Queries)) {
		query := p.config.Pod.Queries[name]
		if query == "" {
			continue
		}
		path := fmt.Sprintf("load.prometheus.pod.queries[%s]", name)
		series, err := p.ask(ctx, path, p.filled(query))
		if err != nil {
			return nil, err
		}
		for _, sample := range series {
			pod := types.NamespacedName{
				Namespace: string(sample.Metric[model.LabelName(p.config.Pod.NamespaceLabel)]),
				Name:      string(sample.Metric[model.LabelName(p.config.Pod.NameLabel)]),
			}
			if err := enter(used, pod, name, float64(sample.Value)); err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return used, nil
}

// aggregate asks for all statistics over all durations, by subqueries.
func (p *Prometheus) aggregate(ctx context.Context, nodes map[string]NodeReading) error {
	step := model.Duration(p.config.Interval.Duration)
	for _, d := range aggregateDurations() {
		over := func(function string) func(string) string {
			return func(query string) string {
				return fmt.Sprintf("%s(%s)[%s:%s])", function, query, model.Duration(d), step)
			}
		}
		statistics := map[string]func(string) string{average: over("avg_over_time(")}
		for _, percentile := range percentiles() {
			statistics[percentile.name] = over(fmt.Sprintf("quantile_over_time(%g, ", float64(percentile.percent)/100))
		}
		for _, statistic := range slices.Sorted(maps.Keys(statistics)) {
			used, _, err := p.nodes(ctx, statistics[statistic])
			if err != nil {
				return err
			}
			for name, amounts := range used {
				if node, measured := nodes[name]; measured {
					node.Aggregated = append(node.Aggregated, cluster.Aggregate{Type: statistic, Duration: d, Used: cluster.ResourcesOf(amounts)})
					nodes[name] = node
				}
			}
		}
	}
	return nil
}

// filled is a query with what its variables stand for.
func (p *Prometheus) filled(query string) string {
	return strings.ReplaceAll(query, "$window", model.Duration(p.config.Window.Duration).String())
}

// ask asks one query, which stands at a path of the configuration.
func (p *Prometheus) ask(ctx context.Context, path, query string) (model.Vector, error) {
	value, _, _, err := p.api.Query(ctx, query, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	switch value := value.(type) {
	case model.Vector:
		return value, nil
	case nil: // as of "null"
		return nil, fmt.Errorf("%s: the answer has no value", path)
	default:
		return nil, fmt.Errorf("%s: the answer is a %s, and not one value for each series", path, value.Type())
	}
}

// enter enters what somebody uses of a resource: cores of cpu, and of all else whole units. What
// is no number is not known; what is less than nothing is nothing.
func enter[Key comparable](used map[Key]corev1.ResourceList, of Key, name corev1.ResourceName, value float64) error {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return nil
	}
	amounts := used[of]
	if amounts == nil {
		amounts = corev1.ResourceList{}
		used[of] = amounts
	}
	if _, twice := amounts[name]; twice {
		return fmt.Errorf("there are several series of %v: sum them, or select one", of)
	}
	const milli, most = 1000, math.MaxInt64 / 1000 // of a whole number that is not rounded
	amounts[name] = *resource.NewMilliQuantity(int64(math.Ceil(min(max(0, value), most)*milli)), resource.DecimalSI)
	return nil
}
