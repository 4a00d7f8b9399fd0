package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// log holds what the watch showed in a round, by the clock of this process.
type log struct {
	nominated map[string]time.Time // when each node was
	bound     map[string]time.Time // when a pod was bound to each node
	pods      []life               // of all that were to be bound
}

// life is when a pod was created, first refused and bound; zero for never.
type life struct{ created, refused, bound time.Time }

// tried is when the scheduler was first seen to have decided about it.
func (l *life) tried() time.Time {
	if l.refused.IsZero() || !l.bound.IsZero() && l.bound.Before(l.refused) {
		return l.bound
	}
	return l.refused
}

// trial is one nomination for a node that was free.
type trial struct {
	// raced is how long after it a pod was bound to the node, 0 when none was.
	raced time.Duration
	// tried is how long after it all pods had been tried that had been created before.
	tried time.Duration
}

func (l *log) trials() []trial {
	var all []trial
	for node, at := range l.nominated {
		bound := l.bound[node]
		if !bound.IsZero() && !bound.After(at) {
			continue
		}
		var t trial
		if !bound.IsZero() {
			t.raced = bound.Sub(at)
		}
		for _, pod := range l.pods {
			if pod.created.Before(at) {
				t.tried = max(t.tried, pod.tried().Sub(at))
			}
		}
		all = append(all, t)
	}
	return all
}

func races(all []trial) (n int) {
	for _, t := range all {
		if t.raced > 0 {
			n++
		}
	}
	return n
}

// lost counts the trials that are raced after a time.
func lost(all []trial, after func(*trial) time.Duration) (n int) {
	for i := range all {
		if all[i].raced > after(&all[i]) {
			n++
		}
	}
	return n
}

// enough returns the least margin after which at most one trial in a given number is raced.
func enough(all []trial, oneIn int) time.Duration {
	var raced []time.Duration
	for _, t := range all {
		raced = append(raced, t.raced)
	}
	slices.Sort(raced)
	return raced[len(raced)-1-len(raced)/oneIn]
}

// printFigures prints what was measured with the limits of a name.
func printFigures(out io.Writer, limits string, all []trial) {
	figure := func(name string, value any) { fmt.Fprintf(out, "figure margin_%s_limits_%s=%v\n", limits, name, value) }
	per10000 := func(n int) string { return fmt.Sprintf("%.2f", float64(n)*10000/float64(len(all))) }
	waits := make([]time.Duration, 0, len(all))
	for i := range all {
		waits = append(waits, all[i].tried+margin)
	}
	slices.Sort(waits)
	figure("trials", len(all))
	figure("raced_per_10000", per10000(races(all)))
	figure("one_in_10000_ms", enough(all, 10_000).Milliseconds())
	figure("longest_ms", enough(all, len(all)+1).Milliseconds())
	figure("fixed_lost_per_10000", per10000(lost(all, func(*trial) time.Duration { return margin })))
	figure("tried_lost_per_10000", per10000(lost(all, func(t *trial) time.Duration { return t.tried })))
	figure("tried_margin_lost_per_10000", per10000(lost(all, func(t *trial) time.Duration { return t.tried + margin })))
	figure("wait_median_ms", waits[len(waits)/2].Milliseconds())
	figure("wait_longest_ms", waits[len(waits)-1].Milliseconds())
}
