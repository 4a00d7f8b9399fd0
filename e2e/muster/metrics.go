package muster

import (
	"context"
	"fmt"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// metrics reads all metrics of the server, by name.
func (s *Server) metrics(ctx context.Context) (map[string]*dto.MetricFamily, error) {
	body, err := s.get(ctx, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("read muster's metrics: %w", err)
	}
	defer body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(body)
	if err != nil {
		return nil, fmt.Errorf("parse muster's metrics: %w", err)
	}
	return families, nil
}

// Labels are some of a metric.
type Labels map[string]string

// Metric sums the metrics of a name that have all of some labels: the values of counters and gauges, how many observations
// histograms have.
func (s *Server) Metric(ctx context.Context, name string, labels Labels) (int, error) {
	sums, err := s.MetricBy(ctx, name, "", labels)
	return sums[""], err
}

// MetricBy is Metric for each value of one more label.
func (s *Server) MetricBy(ctx context.Context, name, label string, labels Labels) (map[string]int, error) {
	families, err := s.metrics(ctx)
	if err != nil {
		return nil, err
	}
	sums := map[string]int{}
	for _, m := range families[name].GetMetric() {
		has := Labels{}
		for _, pair := range m.GetLabel() {
			has[pair.GetName()] = pair.GetValue()
		}
		if has.all(labels) {
			sums[has[label]] += int(m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()))
		}
	}
	return sums, nil
}

func (l Labels) all(wanted Labels) bool {
	for name, value := range wanted {
		if l[name] != value {
			return false
		}
	}
	return true
}
