package podwatch

import (
	"fmt"
	"io"
	"time"
)

// printEvery is how often a Printer prints.
const printEvery = 2 * time.Second

// Printer returns a function that is told tallies as often as one likes and prints a
// line every two seconds, and one when all expected pods are bound.
func Printer(out io.Writer, expected int) func(Tally) {
	began := time.Now()
	var last time.Time
	var before Tally
	return func(t Tally) {
		now := time.Now()
		if now.Sub(last) < printEvery && t.Bound < expected {
			return
		}
		rate := 0.0
		if !last.IsZero() {
			rate = float64(t.Bound-before.Bound) / now.Sub(last).Seconds()
		}
		last, before = now, t
		fmt.Fprintf(out, "%5.0fs  created %6d  bound %6d of %d  %5.0f pods/s\n", now.Sub(began).Seconds(), t.Created, t.Bound, expected, rate)
	}
}
