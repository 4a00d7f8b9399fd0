package muster

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
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
	byVerb := map[string]*histogram{}
	for _, m := range family.Metric {
		for _, label := range m.Label {
			if label.GetName() != "verb" {
				continue
			}
			h := byVerb[label.GetValue()]
			if h == nil {
				h = &histogram{cumulative: map[float64]uint64{}}
				byVerb[label.GetValue()] = h
			}
			h.add(m.Histogram)
		}
	}
	var all []VerbLatency
	for _, verb := range slices.Sorted(maps.Keys(byVerb)) {
		h := byVerb[verb]
		all = append(all, VerbLatency{Verb: verb, Calls: h.count, P50: h.quantile(0.5), P99: h.quantile(0.99)})
	}
	return all
}

// histogram is a sum of Prometheus histograms with the same buckets.
type histogram struct {
	count      uint64
	cumulative map[float64]uint64 // by upper bound in seconds
}

func (h *histogram) add(other *dto.Histogram) {
	h.count += other.GetSampleCount()
	for _, b := range other.Bucket {
		h.cumulative[b.GetUpperBound()] += b.GetCumulativeCount()
	}
}

// quantile interpolates within a bucket, as Prometheus' histogram_quantile does. What is
// above the last bound is told as the last bound.
func (h *histogram) quantile(q float64) time.Duration {
	rank := q * float64(h.count)
	var lower, below float64
	for _, upper := range slices.Sorted(maps.Keys(h.cumulative)) {
		upTo := float64(h.cumulative[upper])
		if math.IsInf(upper, 1) {
			break
		}
		if upTo >= rank && upTo > below {
			return seconds(lower + (upper-lower)*(rank-below)/(upTo-below))
		}
		lower, below = upper, upTo
	}
	return seconds(lower)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
