package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// series are measurements of one thing, one after the other.
type series []time.Duration

func (s series) microseconds() float64 {
	sorted := slices.Sorted(slices.Values(s))
	return float64(sorted[len(sorted)/2].Nanoseconds()) / 1000
}

// over is the median of the ratios to measurements of another thing that were taken at
// the same times.
func (s series) over(other series) float64 {
	ratios := make([]float64, len(s))
	for i := range s {
		ratios[i] = float64(s[i]) / float64(other[i])
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2]
}

func figure(out io.Writer, name string, value float64) {
	fmt.Fprintf(out, "figure %s=%.2f\n", name, value)
}

// mallocs is how many heap objects this process has allocated.
func mallocs() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}
