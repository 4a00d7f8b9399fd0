package campaign

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// campaign is the rounds that were run.
type campaign []round

// round is the runs of one script.
type round struct {
	script   *script
	outcomes []*outcome
}

func (o *outcome) String() string {
	return fmt.Sprintf(
		"%-10s %6d bound, %d overcommitted, %d nominated, %d orphaned (longest %s), %d stranded, %d preempted, %d unschedulable, %d "+
			"complaints; %s late at most",
		o.way,
		o.bindings,
		len(o.overcommitted),
		o.written,
		len(o.orphaned),
		o.longestOrphan.Round(time.Millisecond),
		len(o.stranded),
		o.preempted,
		o.unschedulable,
		len(o.complaints),
		o.late.Round(time.Millisecond),
	)
}

// print prints the findings, the figures and what they are made from.
func (c campaign) print(out io.Writer) {
	fmt.Fprintln(out)
	for _, finding := range c.findings() {
		fmt.Fprintln(out, finding)
	}
	figure := func(name string, value any) { fmt.Fprintf(out, "figure campaign_%s=%v\n", name, value) }
	figure("bindings", c.sum(func(o *outcome) int { return o.bindings }))
	figure("overcommitted", c.sum(func(o *outcome) int { return len(o.overcommitted) }))
	figure("orphaned_nominations", c.sum(func(o *outcome) int { return len(o.orphaned) }))
	figure("orphaned_longest_s", fmt.Sprintf("%.1f", c.longestOrphan().Seconds()))
	figure("complaints", c.sum(func(o *outcome) int { return len(o.complaints) }))
	figure("stranded", c.sum(func(o *outcome) int { return len(o.stranded) }))
	for _, compared := range comparisons() {
		c.printWaits(out, compared)
	}
	for _, happened := range happenings() {
		figure(happened.figure, c.sum(happened.count))
	}
	for _, name := range c.nominationOutcomes() {
		figure("nominations_"+name, c.sum(func(o *outcome) int { return o.nominations[name] }))
	}
}

// violation is an error when a node was overcommitted or a nomination left without a plan.
func (c campaign) violation() error {
	var errs []error
	if n := c.sum(func(o *outcome) int { return len(o.overcommitted) }); n > 0 {
		errs = append(errs, fmt.Errorf("%d bindings overcommitted a node", n))
	}
	if n := c.sum(func(o *outcome) int { return len(o.orphaned) }); n > 0 {
		errs = append(errs, fmt.Errorf("%d nominations stood without a plan for longer than %s", n, orphanLimit))
	}
	return errors.Join(errs...)
}

// idle is an error when too little happened to find anything. A campaign of seconds is not
// idle without what happens rarely.
func (c campaign) idle(ofSeconds bool) error {
	var errs []error
	for _, happened := range happenings() {
		if c.sum(happened.count) == 0 && (!happened.rare || !ofSeconds) {
			errs = append(errs, fmt.Errorf("the campaign proves nothing: %s is 0", happened.figure))
		}
	}
	return errors.Join(errs...)
}

// complaint is an error when kube-scheduler took answers of muster's for errors. Its view
// and muster's are not of the same moment, so that one for a hundred preempted pods is no
// fault of muster's.
func (c campaign) complaint() error {
	complaints := c.sum(func(o *outcome) int { return len(o.complaints) })
	if preempted := c.sum(func(o *outcome) int { return o.preempted }); complaints*100 <= preempted {
		return nil
	}
	return fmt.Errorf("kube-scheduler took %d answers for errors", complaints)
}

// mostTold is how many findings of a kind are told of a run.
const mostTold = 3

// findings are violations, a line each.
func (c campaign) findings() []string {
	var findings []string
	for _, r := range c {
		for n, o := range r.outcomes {
			for what, list := range map[string][]string{
				"overcommitted": o.overcommitted, "orphaned": o.orphaned, "stranded": o.stranded, "kube-scheduler complains": o.complaints,
			} {
				for _, finding := range list[:min(len(list), mostTold)] {
					findings = append(findings, fmt.Sprintf("run %d, %s: %s: %s", n+1, o.way, what, finding))
				}
			}
		}
	}
	slices.Sort(findings)
	return findings
}

// happening is something that must have happened for a campaign to prove anything.
type happening struct {
	figure string
	rare   bool
	count  func(*outcome) int
}

func happenings() []happening {
	return []happening{
		{"nominations_written", false, func(o *outcome) int { return o.written }},
		{"nominations_kept", false, func(o *outcome) int { return o.nominations["confirmed"] }},
		{"nominations_in_vain", true, func(o *outcome) int {
			return o.nominations["elsewhere"] + o.nominations["rejected"] + o.nominations["superseded"] + o.nominations["expired"]
		}},
		{"nominations_of_deleted_pods", true, func(o *outcome) int { return o.nominations["gone"] }},
		{"preempted", false, func(o *outcome) int { return o.preempted }},
		{"unschedulable", false, func(o *outcome) int { return o.unschedulable }},
		{"restarts", false, func(o *outcome) int { return o.restarts }},
	}
}

func (c campaign) sum(count func(*outcome) int) int {
	sum := 0
	for _, r := range c {
		for _, o := range r.outcomes {
			sum += count(o)
		}
	}
	return sum
}

func (c campaign) longestOrphan() (longest time.Duration) {
	for _, r := range c {
		for _, o := range r.outcomes {
			longest = max(longest, o.longestOrphan)
		}
	}
	return longest
}

// nominationOutcomes are the names of all outcomes of nominations.
func (c campaign) nominationOutcomes() []string {
	names := map[string]bool{}
	for _, r := range c {
		for _, o := range r.outcomes {
			for name := range o.nominations {
				names[strings.ToLower(name)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}
