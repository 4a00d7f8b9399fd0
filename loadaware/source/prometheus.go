package source

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/transport"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Prometheus asks a Prometheus server what nodes and pods use, by instant queries.
type Prometheus struct {
	config config.LoadPrometheus
	step   time.Duration // of subqueries
	api    prometheusv1.API
}

var _ Reader = (*Prometheus)(nil)

// NewPrometheus returns a Reader for a valid configuration that is read in every interval. It counts resources by the
// names of the view, and fails when a file that the configuration names cannot be read.
func NewPrometheus(cfg config.LoadPrometheus, interval time.Duration) (*Prometheus, error) {
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
	return &Prometheus{config: cfg, step: interval, api: prometheusv1.NewAPI(client)}, nil
}

// Read implements Reader. Figures are as old as the answers: Prometheus does not say when the samples behind an
// expression were taken, but forgets the samples of a target that is gone.
func (p *Prometheus) Read(ctx context.Context, over []time.Duration) (*Reading, error) {
	reading := &Reading{
		Nodes: map[string]NodeReading{}, Pods: map[types.NamespacedName]cluster.Resources{}, Series: map[string]int{},
	}
	used, at, err := p.nodes(ctx, reading, unchanged)
	if err != nil {
		return nil, err
	}
	for name, amounts := range used {
		reading.Nodes[name] = NodeReading{At: at, Window: p.config.Window.Duration, Used: cluster.ResourcesOf(amounts)}
	}
	if err := p.press(ctx, reading); err != nil {
		return nil, err
	}
	if p.config.Percentiles == config.PercentilesSubqueries {
		if err := p.aggregate(ctx, reading.Nodes, over); err != nil {
			return nil, err
		}
	}
	return reading, p.pods(ctx, reading)
}

func unchanged(query string) string { return query }

// nodes asks the queries of nodes, changed in some way. It leaves out nodes that not all queries answer for, or
// that have an absurd answer. A reading, if there is one, has that noted.
func (p *Prometheus) nodes(
	ctx context.Context, reading *Reading, change func(query string) string,
) (map[string]corev1.ResourceList, time.Time, error) {
	entered, at := newFigures[string](), time.Time{}
	answered, err := p.askAll(ctx, reading, "node.queries", p.config.Node.Queries, change,
		func(name corev1.ResourceName, sample *model.Sample) bool {
			node := nodeOf(sample)
			if node != "" {
				entered.enter(node, name, float64(sample.Value))
				at = sample.Timestamp.Time()
			}
			return node != ""
		})
	if err != nil {
		return nil, at, err
	}
	missing := entered.complete(asked(p.config.Node.Queries), answered)
	if reading != nil {
		for _, figure := range append(entered.refused, missing...) {
			reading.Refused = append(reading.Refused, Refusal{figure.of, false, figure.resource, figure.value, figure.reason})
		}
	}
	return entered.used, at, nil
}

// nodeOf returns the node of a series, "" where it has none.
func nodeOf(sample *model.Sample) string {
	if node := sample.Metric["node"]; node != "" {
		return string(node)
	}
	name, port, _ := strings.Cut(string(sample.Metric[model.InstanceLabel]), ":")
	if strings.Contains(port, ":") { // an address of IPv6 is no node
		return ""
	}
	return name
}

// asked returns the resources that there is a query for, in order.
func asked(queries map[corev1.ResourceName]string) (names []corev1.ResourceName) {
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		if queries[name] != "" {
			names = append(names, name)
		}
	}
	return names
}

// askAll asks queries and hands on the series of each. take says whether it can tell whose a series is. It
// returns the resources that have figures; a reading, if there is one, counts the series.
func (p *Prometheus) askAll(
	ctx context.Context, reading *Reading, at string, queries map[corev1.ResourceName]string, change func(string) string,
	take func(corev1.ResourceName, *model.Sample) bool,
) (answered map[corev1.ResourceName]bool, err error) {
	answered = map[corev1.ResourceName]bool{}
	for _, name := range asked(queries) {
		path := fmt.Sprintf("load.prometheus.%s[%s]", at, name)
		series, err := p.ask(ctx, path, change(p.filled(queries[name])))
		if err != nil {
			return nil, err
		}
		known := 0
		for _, sample := range series {
			if take(name, sample) {
				known++
			}
		}
		answered[name] = known > 0
		if reading != nil {
			reading.Series[path] = known
		}
	}
	return answered, nil
}

// press asks how much processes of nodes have to wait. A node without an answer is under no pressure.
func (p *Prometheus) press(ctx context.Context, reading *Reading) error {
	_, err := p.askAll(ctx, reading, "node.pressure", p.config.Node.Pressure, unchanged,
		func(name corev1.ResourceName, sample *model.Sample) bool {
			of := nodeOf(sample)
			if of == "" {
				return false
			}
			node, measured := reading.Nodes[of]
			if value := float64(sample.Value); absurd(value) != "" {
				reading.Refused = append(reading.Refused, Refusal{
					Of: of, Resource: name + " pressure", Value: sample.Value.String(), Reason: absurd(value),
				})
			} else if measured {
				value *= 100
				if name == corev1.ResourceCPU {
					node.Pressure.CPU = max(node.Pressure.CPU, min(value, 100))
				} else {
					node.Pressure.Memory = max(node.Pressure.Memory, min(value, 100))
				}
				reading.Nodes[of] = node
			}
			return true
		})
	return err
}

// pods asks the queries of pods. It leaves out pods that miss some of the queries with answers, such as a pod
// that has just come. It also leaves out pods with an absurd answer, and notes that.
func (p *Prometheus) pods(ctx context.Context, reading *Reading) error {
	entered := newFigures[types.NamespacedName]()
	answered, err := p.askAll(ctx, reading, "pod.queries", p.config.Pod.Queries, unchanged,
		func(name corev1.ResourceName, sample *model.Sample) bool {
			pod := types.NamespacedName{
				Namespace: string(sample.Metric["namespace"]), Name: string(sample.Metric["pod"]),
			}
			if pod.Namespace == "" || pod.Name == "" {
				return false
			}
			entered.enter(pod, name, float64(sample.Value))
			return true
		})
	if err != nil {
		return err
	}
	maps.DeleteFunc(answered, func(_ corev1.ResourceName, somebody bool) bool { return !somebody })
	entered.complete(slices.Sorted(maps.Keys(answered)), answered)
	for _, figure := range entered.refused {
		reading.Refused = append(reading.Refused, Refusal{figure.of.String(), true, figure.resource, figure.value, figure.reason})
	}
	for name, amounts := range entered.used {
		reading.Pods[name] = cluster.ResourcesOf(amounts)
	}
	return nil
}

// aggregate asks for all statistics over some durations, by subqueries.
func (p *Prometheus) aggregate(ctx context.Context, nodes map[string]NodeReading, durations []time.Duration) error {
	step := model.Duration(p.step)
	for _, d := range durations {
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
			used, _, err := p.nodes(ctx, nil, statistics[statistic])
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

// filled returns a query with what its variables stand for.
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
