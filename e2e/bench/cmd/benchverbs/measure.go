package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"muster.dev/muster/e2e/bench/lab"
)

// result holds the times of calls of one verb on one target.
type result struct {
	took []time.Duration
	// allocations a call, -1 when the target does not count them.
	allocations float64
}

func (r *result) quantile(q float64) time.Duration {
	return r.took[min(int(q*float64(len(r.took))), len(r.took)-1)]
}

func (r *result) allocationText() string {
	if r.allocations < 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", r.allocations)
}

// measure calls the targets in turn, so that whatever else the machine does falls
// on all alike, and then each alone to count its allocations.
func measure(ctx context.Context, targets []target, verb string, bodies map[string][]byte, calls int) ([]result, error) {
	results := make([]result, len(targets))
	answer := new(bytes.Buffer)
	for i := range calls + calls/10 {
		for t := range targets {
			took, err := post(ctx, targets[t].url+"/"+verb, bodies[targets[t].profile], answer)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", targets[t].name, err)
			}
			if i >= calls/10 { // the first are for warming up
				results[t].took = append(results[t].took, took)
			}
		}
	}
	for t := range targets {
		slices.Sort(results[t].took)
		var err error
		if results[t].allocations, err = allocations(ctx, targets[t], verb, bodies[targets[t].profile]); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func post(ctx context.Context, url string, body []byte, answer *bytes.Buffer) (time.Duration, error) {
	began := time.Now()
	err := lab.Call(ctx, http.MethodPost, url, body, answer)
	return time.Since(began), err
}

const allocationCalls = 50

// allocations is the mean number of heap objects that a call makes in the target,
// the HTTP server's own included.
func allocations(ctx context.Context, t target, verb string, body []byte) (float64, error) {
	if t.metrics == "" {
		return -1, nil
	}
	before, err := mallocs(ctx, t.metrics)
	if err != nil {
		return 0, err
	}
	between, err := mallocs(ctx, t.metrics) // what reading the metrics costs
	if err != nil {
		return 0, err
	}
	for range allocationCalls {
		if _, err := post(ctx, t.url+"/"+verb, body, new(bytes.Buffer)); err != nil {
			return 0, err
		}
	}
	after, err := mallocs(ctx, t.metrics)
	if err != nil {
		return 0, err
	}
	return max(after-between-(between-before), 0) / allocationCalls, nil
}

func mallocs(ctx context.Context, url string) (float64, error) {
	page := new(bytes.Buffer)
	if err := lab.Call(ctx, http.MethodGet, url, nil, page); err != nil {
		return 0, err
	}
	for line := range strings.Lines(page.String()) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "go_memstats_mallocs_total "); ok {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, fmt.Errorf("no go_memstats_mallocs_total at %s", url)
}
