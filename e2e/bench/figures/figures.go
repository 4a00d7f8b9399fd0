// Package figures makes figures of what rounds have measured, and reads how much shall be measured.
package figures

import (
	"cmp"
	"fmt"
	"io"
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

// Quantile is the value that a part of a hundred is below, 50 for the median. There must be one.
func Quantile[T cmp.Ordered](of []T, percent int) T {
	return slices.Sorted(slices.Values(of))[min(len(of)*percent/100, len(of)-1)]
}

// Print prints a figure with a number of digits, unless it is not a number.
func Print(out io.Writer, name string, digits int, value float64) {
	if !math.IsNaN(value) {
		fmt.Fprintf(out, "figure %s=%.*f\n", name, digits, value)
	}
}

// Number reads a number from 1 to most, which the environment variable of a name has.
func Number(name, text string, most int) (int, error) {
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 1 || n > most {
		return 0, fmt.Errorf("%s=%s: want a number from 1 to %d", name, text, most)
	}
	return n, nil
}

// FromEnv is Number for a variable that need not be set.
func FromEnv(getenv func(string) string, name string, otherwise, most int) (int, error) {
	if text := getenv(name); text != "" {
		return Number(name, text, most)
	}
	return otherwise, nil
}

// Sizes reads numbers from 1 to most, separated by commas, from a variable that need not be set.
func Sizes(getenv func(string) string, name string, otherwise []int, most int) ([]int, error) {
	text := getenv(name)
	if text == "" {
		return otherwise, nil
	}
	var sizes []int
	for part := range strings.SplitSeq(text, ",") {
		n, err := Number(name, part, most)
		if err != nil {
			return nil, err
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}
