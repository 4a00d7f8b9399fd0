package soak

import (
	"testing"
	"time"
)

func TestSlopeIsWhatMostReadingsSay(t *testing.T) {
	every := func(step time.Duration, heaps ...int64) []reading {
		var readings []reading
		for i, heap := range heaps {
			readings = append(readings, reading{at: time.Duration(i) * step, heap: heap})
		}
		return readings
	}
	tests := []struct {
		name     string
		readings []reading
		want     float64
	}{
		{"nothing", nil, 0},
		{"one", every(time.Minute, 7), 0},
		{"two", every(time.Hour, 7, 10), 3},
		{"steady growth", every(30*time.Minute, 10, 12, 14, 16, 18), 4},
		{"one that is off", every(time.Hour, 10, 10, 999, 10, 10, 10), 0},
		{"shrinking", every(time.Hour, 30, 20, 10), -10},
		{"none, with noise", every(time.Hour, 10, 12, 9, 11, 10, 12, 9, 11), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := slope(test.readings, func(r reading) int64 { return r.heap }); got != test.want {
				t.Errorf("slope %v, want %v", got, test.want)
			}
		})
	}
}
