package soak

import (
	"slices"
	"time"
)

// reading is muster's memory at a time since the start.
type reading struct {
	at         time.Duration
	heap       int64 // bytes that are reachable, after a collection
	goroutines int64
}

// slope is by how much a figure grows in an hour: the median of the slopes between any two readings
// (Theil and Sen), so that single readings that are off do not count. It is 0 for less than two.
func slope(readings []reading, figure func(reading) int64) float64 {
	var slopes []float64
	for i, first := range readings {
		for _, second := range readings[i+1:] {
			slopes = append(slopes, float64(figure(second)-figure(first))/(second.at-first.at).Hours())
		}
	}
	return median(slopes)
}

// median is 0 of nothing.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}
