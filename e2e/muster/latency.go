package muster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"muster.dev/muster/e2e/histogram"
)

const verbDuration = "muster_verb_duration_seconds"

// VerbLatency is the cost of a verb since the server started, over all outcomes. The quantiles are
// read off a histogram, so they are as fine as its buckets.
type VerbLatency struct {
	Verb     string
	Calls    uint64
	P50, P99 time.Duration
}

// VerbLatencies reads the server's metrics. Verbs come in alphabetical order.
func (s *Server) VerbLatencies(ctx context.Context) ([]VerbLatency, error) {
	families, err := s.metrics(ctx)
	if err != nil {
		return nil, err
	}
	family, ok := families[verbDuration]
	if !ok {
		return nil, fmt.Errorf("muster's metrics have no %s", verbDuration)
	}
	return latencies(family), nil
}

func latencies(family *dto.MetricFamily) []VerbLatency {
	byVerb := map[string]*histogram.Sum{}
	for _, m := range family.Metric {
		for _, label := range m.Label {
			if label.GetName() != "verb" {
				continue
			}
			h := byVerb[label.GetValue()]
			if h == nil {
				h = &histogram.Sum{}
				byVerb[label.GetValue()] = h
			}
			h.Add(m.Histogram)
		}
	}
	var all []VerbLatency
	for _, verb := range slices.Sorted(maps.Keys(byVerb)) {
		h := byVerb[verb]
		all = append(all, VerbLatency{Verb: verb, Calls: h.Count, P50: h.Quantile(0.5), P99: h.Quantile(0.99)})
	}
	return all
}
