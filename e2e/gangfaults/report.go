package gangfaults

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// tellEvery is how often a report says how far the campaign is.
const tellEvery = 10 * time.Second

// report is what came of the runs so far. Its methods are safe for concurrent use.
type report struct {
	out   io.Writer
	seeds int

	mu          sync.Mutex
	began, told time.Time
	runs        int
	findings    int
	bad         []uint64 // seeds
	faults      map[fault]int
	gangs       int
	started     int
	repaired    int
	gated       int // pods
	bindings    int
	partial     time.Duration // the longest
	settled     time.Duration // the longest
}

func newReport(seeds int, out io.Writer) *report {
	return &report{out: out, seeds: seeds, faults: map[fault]int{}}
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
	r.gangs += o.gangs
	r.started += o.verdict.started
	r.repaired += o.verdict.repaired
	r.gated += o.verdict.gated
	r.bindings += o.bindings
	r.partial, r.settled = max(r.partial, o.verdict.longest), max(r.settled, o.settled)
	for f, n := range o.faults {
		r.faults[f] += n
	}
	if len(o.verdict.findings) > 0 {
		r.findings += len(o.verdict.findings)
		r.bad = append(r.bad, o.seed)
		o.tell(r.out)
	}
	now := time.Now()
	if now.Sub(r.told) >= tellEvery || r.runs == r.seeds {
		r.told = now
		each := now.Sub(r.began) / time.Duration(r.runs)
		fmt.Fprintf(r.out, "%d of %d runs, one in %s; %d gangs, %d whole; %d violations\n", r.runs, r.seeds, each.Round(time.Millisecond), r.gangs, r.started, r.findings)
	}
}

// tell says what was found in a run and how to see it again.
func (o *outcome) tell(out io.Writer) {
	fmt.Fprintf(out, "\nseed %d, again by: make faults-gang SEED=%d\n", o.seed, o.seed)
	for _, f := range o.verdict.findings {
		fmt.Fprintf(out, "  VIOLATION %s: %s\n", f.what, f.text)
	}
	fmt.Fprintln(out, "  what was done, by seconds:")
	for _, line := range o.log {
		fmt.Fprintln(out, "   ", line)
	}
	for _, f := range slices.Sorted(maps.Keys(o.faults)) {
		fmt.Fprintf(out, "    %d × %s\n", o.faults[f], f)
	}
	if o.page != "" {
		fmt.Fprintln(out, "  what muster said at the end:")
		for line := range strings.Lines(o.page) {
			fmt.Fprint(out, "    ", line)
		}
	}
	fmt.Fprintln(out)
}

// print prints the figures.
func (r *report) print(out io.Writer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(out)
	for _, f := range slices.Sorted(maps.Keys(r.faults)) {
		fmt.Fprintf(out, "%7d × %s\n", r.faults[f], f)
	}
	figure := func(name string, value any) { fmt.Fprintf(out, "figure gang_fault_%s=%v\n", name, value) }
	total := 0
	for _, n := range r.faults {
		total += n
	}
	figure("runs", r.runs)
	figure("faults", total)
	figure("gangs", r.gangs)
	figure("gangs_whole", r.started)
	figure("gangs_partial_1s", r.repaired)
	figure("gated_pods", r.gated)
	figure("bindings", r.bindings)
	figure("longest_partial_s", fmt.Sprintf("%.1f", r.partial.Seconds()))
	figure("longest_settling_s", fmt.Sprintf("%.1f", r.settled.Seconds()))
	fmt.Fprintf(out, "figure gang_violations=%d\n", r.findings)
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
