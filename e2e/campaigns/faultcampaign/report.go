package faultcampaign

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

// Outcome tells of a run.
type Outcome struct {
	Violations []string
	Faults     map[Fault]int
	Counts     map[string]int           // by the names that the campaign has
	Longest    map[string]time.Duration // by what lasted so long
	Log        []string                 // what was done, and when
	Page       string                   // what muster said at the end, if that matters
}

// Report tells of the runs so far. Its fields are to be read when all are over.
type Report struct {
	Faults map[Fault]int
	Counts map[string]int

	campaign Campaign
	out      io.Writer
	seeds    int

	mu          sync.Mutex
	began, told time.Time
	runs        int
	violations  int
	bad         []uint64 // seeds
	longest     map[string]time.Duration
}

func newReport(c Campaign, seeds int, out io.Writer) *Report {
	return &Report{Faults: map[Fault]int{}, Counts: map[string]int{}, campaign: c, out: out, seeds: seeds, longest: map[string]time.Duration{}}
}

// begin says that runs begin.
func (r *Report) begin(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.began.IsZero() {
		r.began, r.told = now, now
	}
}

// add takes in what came of a run, and tells at once what was found, and all of a single run.
func (r *Report) add(seed uint64, o *Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.runs++
	for f, n := range o.Faults {
		r.Faults[f] += n
	}
	for name, n := range o.Counts {
		r.Counts[name] += n
	}
	for name, d := range o.Longest {
		r.longest[name] = max(r.longest[name], d)
	}
	if len(o.Violations) > 0 {
		r.violations += len(o.Violations)
		r.bad = append(r.bad, seed)
	}
	if len(o.Violations) > 0 || r.seeds == 1 {
		r.tell(seed, o)
	}
	if now := time.Now(); now.Sub(r.told) >= tellEvery || r.runs == r.seeds {
		r.told = now
		each := now.Sub(r.began) / time.Duration(r.runs)
		fmt.Fprintf(r.out, "%d of %d runs, one in %s;", r.runs, r.seeds, each.Round(time.Millisecond))
		for _, name := range r.campaign.Counts {
			fmt.Fprintf(r.out, " %s=%d", name, r.Counts[name])
		}
		fmt.Fprintf(r.out, "; %d violations\n", r.violations)
	}
}

// again says that a run told nothing.
func (r *Report) again(seed uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "seed %d is run again: the machine was too slow to renew a lease\n", seed)
}

// tell says what was found in a run and how to see it again.
func (r *Report) tell(seed uint64, o *Outcome) {
	fmt.Fprintf(r.out, "\nseed %d, again by: make %s SEED=%d\n", seed, r.campaign.target(), seed)
	for _, text := range o.Violations {
		fmt.Fprintln(r.out, "  VIOLATION", text)
	}
	fmt.Fprintln(r.out, "  what was done and what happened, by seconds:")
	for _, line := range o.Log {
		fmt.Fprintln(r.out, "   ", line)
	}
	for _, f := range slices.Sorted(maps.Keys(o.Faults)) {
		fmt.Fprintf(r.out, "    %d × %s\n", o.Faults[f], f)
	}
	if o.Page != "" {
		fmt.Fprintln(r.out, "  what muster said at the end:")
		for line := range strings.Lines(o.Page) {
			fmt.Fprint(r.out, "    ", line)
		}
	}
	fmt.Fprintln(r.out)
}

// print prints the figures.
func (r *Report) print() {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.out)
	total := 0
	for _, f := range slices.Sorted(maps.Keys(r.Faults)) {
		fmt.Fprintf(r.out, "%7d × %s\n", r.Faults[f], f)
		total += r.Faults[f]
	}
	figure := func(name string, value any) { fmt.Fprintf(r.out, "figure %s_%s=%v\n", r.campaign.Name, name, value) }
	figure("fault_runs", r.runs)
	figure("fault_faults", total)
	for _, name := range r.campaign.Counts {
		figure("fault_"+name, r.Counts[name])
	}
	for _, name := range r.campaign.PerRun {
		figure("fault_"+name+"_per_run", fmt.Sprintf("%.1f", float64(r.Counts[name])/float64(max(r.runs, 1))))
	}
	for _, name := range slices.Sorted(maps.Keys(r.longest)) {
		figure("fault_longest_"+name+"_s", fmt.Sprintf("%.1f", r.longest[name].Seconds()))
	}
	if r.campaign.Figures != nil {
		r.campaign.Figures(r.out)
	}
	figure("violations", r.violations)
}

// Err says which seeds are to be looked at, nil for none.
func (r *Report) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.violations == 0 {
		return nil
	}
	return fmt.Errorf("%d violations, with the seeds %v", r.violations, r.bad)
}
