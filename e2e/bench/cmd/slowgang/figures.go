package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"muster.dev/muster/e2e/podwatch"
)

// start is the fate of a gang.
type start struct {
	members int
	delay   time.Duration // of each call
	bound   int           // members
	// took is from the creation of the first pod until the last one was seen bound.
	took time.Duration
	// partial is from the first binding until the last one, and idle for how long none was under way meanwhile.
	partial, idle time.Duration
}

func startOf(members int, delay time.Duration, began time.Time, tally podwatch.Tally, bindings spell) start {
	s := start{members: members, delay: delay, bound: tally.Bound, partial: bindings.last.Sub(bindings.first), idle: bindings.idle}
	if s.bound > 0 {
		s.took = tally.Last.Sub(began)
	}
	return s
}

func (s start) started() bool { return s.bound == s.members }

// String is a line for people.
func (s start) String() string {
	const unit = 10 * time.Millisecond
	return fmt.Sprintf("each call %s slower: %d of %d bound after %s, in %s, with no binding under way for %s of it",
		s.delay, s.bound, s.members, s.took.Round(unit), s.partial.Round(unit), s.idle.Round(unit))
}

// printFigures fails when a gang did not start.
func printFigures(out io.Writer, members int, starts []start) error {
	all := 1
	for _, s := range starts {
		if !s.started() {
			all = 0
		}
	}
	fmt.Fprintf(out, "figure slow_api_gang_of_%d_started=%d\n", members, all)
	for _, s := range starts {
		fmt.Fprintf(out, "figure slow_api_gang_of_%d_seconds_%s=%.1f\n", members, s.delay, s.took.Seconds())
		fmt.Fprintf(out, "figure slow_api_gang_of_%d_partial_seconds_%s=%.1f\n", members, s.delay, s.partial.Seconds())
		fmt.Fprintf(out, "figure slow_api_gang_of_%d_partial_idle_seconds_%s=%.1f\n", members, s.delay, s.idle.Seconds())
	}
	if all == 0 {
		return errors.New("a gang did not start")
	}
	return nil
}
