package main

import (
	"runtime"
	"time"

	"muster.dev/muster/e2e/bench/figures"
)

// series are measurements of one thing, one after the other.
type series []time.Duration

func (s series) microseconds() float64 { return float64(figures.Quantile(s, 50).Nanoseconds()) / 1000 }

// over is the median of the ratios to measurements of another thing that were taken at
// the same times.
func (s series) over(other series) float64 {
	ratios := make([]float64, len(s))
	for i := range s {
		ratios[i] = float64(s[i]) / float64(other[i])
	}
	return figures.Quantile(ratios, 50)
}

// mallocs is how many heap objects this process has allocated.
func mallocs() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}
