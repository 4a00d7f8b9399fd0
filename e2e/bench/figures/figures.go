// Package figures makes figures of what rounds have measured, and reads how much shall be measured.
package figures

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Median is the middle value, or the mean of the two in the middle; not a number for none.
func Median(of []float64) float64 {
	if len(of) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(of))
	half := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[half-1] + sorted[half]) / 2
	}
	return sorted[half]
}

// MedianRatio compares two contenders round by round, since machines change from round to round, and returns the
// median of what one has of the other. Rounds that only one of them has do not count.
func MedianRatio(of, than []float64) float64 {
	ratios := make([]float64, min(len(of), len(than)))
	for round := range ratios {
		ratios[round] = of[round] / than[round]
	}
	return Median(ratios)
}

// Number reads a number from 1 to most, which the environment variable of a name has.
func Number(name, text string, most int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s=%s: want a number from 1 to %d", name, text, most)
	}
	return n, nil
}
