package loadreplay

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"time"
)

// Step is the time between two figures of a trace.
const Step = 5 * time.Minute

// Traces are series of CPU usage, each of a machine over a day, in percent of it.
type Traces [][]float64

// ReadTraces reads a table with a header and a row for each machine: its name, and then figures.
func ReadTraces(r io.Reader) (Traces, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read traces: %w", err)
	}
	var traces Traces
	for i, row := range rows[min(1, len(rows)):] {
		var trace []float64
		for at, cell := range row[min(1, len(row)):] {
			percent, err := strconv.ParseFloat(cell, 64)
			if err != nil || percent < 0 || percent > 100 {
				return nil, fmt.Errorf("line %d, column %d: %q is no percentage", i+2, at+2, cell)
			}
			trace = append(trace, percent)
		}
		traces = append(traces, trace)
	}
	if len(traces) == 0 || len(traces[0]) == 0 {
		return nil, errors.New("there are no traces")
	}
	return traces, nil
}

// GenerateTraces makes traces with statistics like PlanetLab's on 2011-03-03: the mean of machines
// is 12 %, a tenth of them uses more than 34 %, and a machine strays from its own mean by some
// twice the root of that, hardly correlated from one figure to the next.
func GenerateTraces(count int, r *rand.Rand) Traces {
	const (
		median, spread = 7.0, 1.1 // of the means of machines, which are lognormal
		stray          = 2        // of a machine, times the root of its mean
		figures        = int(24 * time.Hour / Step)
	)
	traces := make(Traces, count)
	for i := range traces {
		mean := median * math.Exp(spread*r.NormFloat64())
		for range figures {
			traces[i] = append(traces[i], min(max(mean+stray*math.Sqrt(mean)*r.NormFloat64(), 0), 100))
		}
	}
	return traces
}
