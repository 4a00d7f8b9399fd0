package reschedulerfaults

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// tellEvery is how often a report says how far the campaign is.
const tellEvery = 20 * time.Second

// report is what came of the runs so far. Its methods are safe for concurrent use.
type report struct {
	out   io.Writer
	seeds int

	mu       sync.Mutex
	began    time.Time
	told     time.Time
	runs     int
	findings int
	bad      []uint64 // seeds
	faults   map[fault]int
	tally    tally // of all
	settled  time.Duration
}

func newReport(seeds int, out io.Writer) *report {
	return &report{out: out, seeds: seeds, faults: map[fault]int{}, tally: tally{plans: map[v1alpha1.Phase]int{}}}
}

// begin says that runs begin.
func (r *report) begin(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began.IsZero() {
		r.began, r.told = now, now
	}
}

// add takes in what came of a run, and tells at once what was found.
func (r *report) add(o *outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs++
	r.tally.evictions += o.tally.evictions
	r.tally.moved += o.tally.moved
	r.tally.placed += o.tally.placed
	r.settled = max(r.settled, o.settled)
	for phase, n := range o.tally.plans {
		r.tally.plans[phase] += n
	}
	for f, n := range o.faults {
		r.faults[f] += n
	}
	if len(o.findings) > 0 {
		r.findings += len(o.findings)
		r.bad = append(r.bad, o.seed)
	}
	if len(o.findings) > 0 || r.seeds == 1 {
		o.tell(r.out)
	}
	if now := time.Now(); now.Sub(r.told) >= tellEvery || r.runs == r.seeds {
		r.told = now
		each := now.Sub(r.began) / time.Duration(r.runs)
		fmt.Fprintf(r.out, "%d of %d runs, one in %s; plans: %v; %d evictions; %d violations\n",
			r.runs, r.seeds, each.Round(time.Millisecond), r.tally.plans, r.tally.evictions, r.findings)
	}
}

// tell says what was found in a run and how to see it again.
func (o *outcome) tell(out io.Writer) {
	fmt.Fprintf(out, "\nseed %d, again by: make faults-rescheduler SEED=%d\n", o.seed, o.seed)
	for _, f := range o.findings {
		fmt.Fprintf(out, "  VIOLATION %s: %s\n", f.what, f.text)
	}
	fmt.Fprintln(out, "  what was done and what happened, by seconds:")
	slices.Sort(o.log)
	for _, line := range o.log {
		fmt.Fprintln(out, "   ", line)
	}
	for _, f := range slices.Sorted(maps.Keys(o.faults)) {
		fmt.Fprintf(out, "    %d × %s\n", o.faults[f], f)
	}
	fmt.Fprintln(out)
}

// print prints the figures.
func (r *report) print(out io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(out)
	total := 0
	for _, f := range slices.Sorted(maps.Keys(r.faults)) {
		fmt.Fprintf(out, "%7d × %s\n", r.faults[f], f)
		total += r.faults[f]
	}
	figure := func(name string, value any) { fmt.Fprintf(out, "figure rescheduler_%s=%v\n", name, value) }
	figure("fault_runs", r.runs)
	figure("fault_faults", total)
	for _, phase := range []v1alpha1.Phase{v1alpha1.Succeeded, v1alpha1.Failed, v1alpha1.Expired} {
		figure(fmt.Sprintf("fault_plans_%s", phase), r.tally.plans[phase])
	}
	figure("fault_evictions", r.tally.evictions)
	figure("fault_moved", r.tally.moved)
	figure("fault_placed", r.tally.placed)
	figure("fault_longest_settling_s", fmt.Sprintf("%.1f", r.settled.Seconds()))
	figure("violations", r.findings)
}

// err says which seeds are to be looked at, nil for none.
func (r *report) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.findings == 0 {
		return nil
	}
	return fmt.Errorf("%d violations, with the seeds %v", r.findings, r.bad)
}
