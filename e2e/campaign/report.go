package campaign

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// mostWait is how much longer the waits may be with nomination than without, 1 is as long.
const mostWait = 1.1

// campaign is the rounds that were run.
type campaign []round

// round is the runs of one script.
type round struct {
	script   *script
	outcomes []*outcome
}

func (o *outcome) String() string {
	return fmt.Sprintf("%-10s %6d bound, %d overcommitted, %d nominated, %d orphaned (longest %s), %d stranded, %d preempted, %d unschedulable, %d complaints; %s late at most",
		o.way, o.bindings, len(o.overcommitted), o.written, len(o.orphaned), o.longestOrphan.Round(time.Millisecond), len(o.stranded), o.preempted, o.unschedulable, len(o.complaints), o.late.Round(time.Millisecond))
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
	c.printRuns(out)
	for _, compared := range comparisons() {
		with, bare := c.waits(compared, nominating), c.waits(compared, without)
		if len(with) == 0 {
			continue
		}
		fmt.Fprintf(out, "%s: %d pods; with nomination p50 %s, p99 %s; without p50 %s, p99 %s\n", compared.about, len(with),
			milliseconds(quantile(with, 0.5)), milliseconds(quantile(with, 0.99)), milliseconds(quantile(bare, 0.5)), milliseconds(quantile(bare, 0.99)))
		figure(compared.figure+"wait_p50_vs_without", fmt.Sprintf("%.2f", ratio(with, bare, 0.5)))
		figure(compared.figure+"wait_p99_vs_without", fmt.Sprintf("%.2f", ratio(with, bare, 0.99)))
	}
	for _, happened := range happenings() {
		figure(happened.figure, c.sum(happened.count))
	}
	for _, name := range c.nominationOutcomes() {
		figure("nominations_"+name, c.sum(func(o *outcome) int { return o.nominations[name] }))
	}
}

// printRuns prints the waits that are judged run by run: how much those of one way differ
// among themselves is what the machine does to them.
func (c campaign) printRuns(out io.Writer) {
	for _, r := range c {
		for n, o := range r.outcomes {
			alone := campaign{{script: r.script, outcomes: []*outcome{o}}}
			if waits := alone.waits(comparisons()[0], o.way); len(waits) > 0 {
				fmt.Fprintf(out, "run %d, %s: %d pods that come while there is room: p50 %s, p99 %s\n",
					n+1, o.way, len(waits), milliseconds(quantile(waits, 0.5)), milliseconds(quantile(waits, 0.99)))
			}
		}
	}
}

// verdict is an error when a node was overcommitted, a nomination left without a plan, or
// when too little happened to find that.
func (c campaign) verdict() error {
	var errs []error
	if n := c.sum(func(o *outcome) int { return len(o.overcommitted) }); n > 0 {
		errs = append(errs, fmt.Errorf("%d bindings overcommitted a node", n))
	}
	if n := c.sum(func(o *outcome) int { return len(o.orphaned) }); n > 0 {
		errs = append(errs, fmt.Errorf("%d nominations stood without a plan for longer than %s", n, orphanLimit))
	}
	for _, happened := range happenings() {
		if c.sum(happened.count) == 0 {
			errs = append(errs, fmt.Errorf("the campaign proves nothing: %s is 0", happened.figure))
		}
	}
	return errors.Join(errs...)
}

// complaint is an error when kube-scheduler took answers of muster's for errors.
func (c campaign) complaint() error {
	if n := c.sum(func(o *outcome) int { return len(o.complaints) }); n > 0 {
		return fmt.Errorf("kube-scheduler took %d answers for errors", n)
	}
	return nil
}

// slower is an error when pods wait longer with nomination.
func (c campaign) slower() error {
	judged := comparisons()[0]
	got := ratio(c.waits(judged, nominating), c.waits(judged, without), 0.99)
	if got <= mostWait {
		return nil
	}
	return fmt.Errorf("%s: p99 of the waits is %.2f times that without nomination, at most %.2f is allowed", judged.about, got, mostWait)
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
	count  func(*outcome) int
}

func happenings() []happening {
	return []happening{
		{"nominations_written", func(o *outcome) int { return o.written }},
		{"nominations_kept", func(o *outcome) int { return o.nominations["confirmed"] }},
		{"nominations_in_vain", func(o *outcome) int {
			return o.nominations["elsewhere"] + o.nominations["rejected"] + o.nominations["superseded"] + o.nominations["expired"]
		}},
		{"nominations_of_deleted_pods", func(o *outcome) int { return o.nominations["gone"] }},
		{"preempted", func(o *outcome) int { return o.preempted }},
		{"unschedulable", func(o *outcome) int { return o.unschedulable }},
		{"restarts", func(o *outcome) int { return o.restarts }},
	}
}

// comparison is of the waits of some pods with and without nomination.
type comparison struct {
	about, figure string
	origin        origin
}

// comparisons begin with the one that is judged.
func comparisons() []comparison {
	return []comparison{
		{"pods that come while there is room", "", origin{calm, corev1.DefaultSchedulerName}},
		{"pods of the second scheduler that come while there is room", "second_", origin{calm, secondScheduler}},
		{"pods that come while the cluster is crowded", "crowded_", origin{crowded, corev1.DefaultSchedulerName}},
		{"pods that come around an outage", "outage_", origin{outage, corev1.DefaultSchedulerName}},
	}
}

// waits pools the waits of the runs of one way, of the pods that all runs of the round
// have bound.
func (c campaign) waits(of comparison, in way) []time.Duration {
	var waits []time.Duration
	for _, r := range c {
		for name, origin := range r.script.pods {
			if origin != of.origin || slices.ContainsFunc(r.outcomes, func(o *outcome) bool { _, bound := o.waits[name]; return !bound }) {
				continue
			}
			for _, o := range r.outcomes {
				if o.way == in {
					waits = append(waits, o.waits[name])
				}
			}
		}
	}
	slices.Sort(waits)
	return waits
}

// quantile of sorted durations, by the nearest rank. There must be some.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// ratio of a quantile, not a number when there is nothing to compare.
func ratio(with, without []time.Duration, q float64) float64 {
	if len(with) == 0 || len(without) == 0 {
		return math.NaN()
	}
	return quantile(with, q).Seconds() / quantile(without, q).Seconds()
}

func milliseconds(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

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
