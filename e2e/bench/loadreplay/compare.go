package loadreplay

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"text/tabwriter"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/api/config"
)

// Contender is a rule by its name.
type Contender struct {
	Name string
	Rule Maker
}

// Names of contenders that others are held against.
const (
	nameLeastAllocated  = "LeastAllocated by requests"
	nameReference       = "reference with Reserve"
	nameMusterScheduler = "muster, nodeSelection Scheduler"
	nameMusterExtender  = "muster, nodeSelection Muster"
)

// Contenders are all, the ones of muster last.
func Contenders() []Contender {
	return []Contender{
		{nameLeastAllocated, LeastAllocated},
		{"usage only", UsageOnly},
		{"TargetLoadPacking", TargetLoadPacking},
		{"reference, blind until bind", BlindReference},
		{nameReference, Reference},
		{nameMusterScheduler, Muster(config.NodeSelectionScheduler)},
		{nameMusterExtender, Muster(config.NodeSelectionMuster)},
	}
}

// Comparison is the outcome of several workloads by contender and burst.
type Comparison struct {
	contenders []Contender
	bursts     []int
	seeds      int
	results    map[Contest]*Result
}

// Contest is a contender and a size of bursts.
type Contest struct {
	name  string
	burst int
}

// Compare runs all contenders on the same workloads, one for each seed and plan.
func Compare(ctx context.Context, contenders []Contender, plans []Plan, traces Traces, seeds int) (*Comparison, error) {
	c := &Comparison{contenders: contenders, seeds: seeds, results: map[Contest]*Result{}}
	type done struct {
		contest Contest
		result  Result
	}
	results := make([]done, len(plans)*seeds*len(contenders))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	at := 0
	for _, plan := range plans {
		c.bursts = append(c.bursts, plan.Burst)
		for seed := range uint64(seeds) {
			for _, contender := range contenders {
				into := &results[at]
				at++
				group.Go(func() error {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					result, err := Run(plan.Workload(traces, seed), contender.Rule)
					if err != nil {
						return fmt.Errorf("%s, bursts of %d, seed %d: %w", contender.Name, plan.Burst, seed, err)
					}
					*into = done{Contest{contender.Name, plan.Burst}, result}
					return nil
				})
			}
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, d := range results {
		if c.results[d.contest] == nil {
			c.results[d.contest] = &Result{}
		}
		c.results[d.contest].Add(d.result)
	}
	return c, nil
}

// of returns the outcome of a contender over all bursts.
func (c *Comparison) of(name string) *Result {
	all := &Result{}
	for _, burst := range c.bursts {
		if r := c.results[Contest{name, burst}]; r != nil {
			all.Add(*r)
		}
	}
	return all
}

// Print writes the tables and the figures.
func (c *Comparison) Print(out io.Writer) {
	for _, burst := range c.bursts {
		fmt.Fprintf(out, "bursts of %d, %d seeds\n\n", burst, c.seeds)
		table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintf(table, "\tnode-minutes above %d %%\thighest %%\tdeviation\tmean %%\tpending\trejections\t\n", threshold)
		for _, contender := range c.contenders {
			r := c.results[Contest{contender.Name, burst}]
			fmt.Fprintf(
				table, "%s\t%.1f\t%.0f\t%.2f\t%.1f\t%d\t%.0f\t\n", contender.Name, float64(r.Overload)/float64(c.seeds), r.Highest, r.Deviation(),
				r.Mean(), r.Pending, float64(r.Rejected)/float64(c.seeds),
			)
		}
		_ = table.Flush() // as errors of out
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "figure overload_vs_reference=%.3f\n", c.Against(nameReference))
	fmt.Fprintf(out, "figure overload_vs_leastallocated=%.3f\n", c.Against(nameLeastAllocated))
	for _, mode := range []string{"scheduler", "extender"} {
		name := map[string]string{"scheduler": nameMusterScheduler, "extender": nameMusterExtender}[mode]
		fmt.Fprintf(out, "figure overload_vs_reference_%s=%.3f\n", mode, c.ratio(name, nameReference))
	}
	fmt.Fprintf(out, "figure load_pending=%d\n", c.pending())
	fmt.Fprintf(out, "figure load_pending_reference=%d\n", c.of(nameReference).Pending)
}

func (c *Comparison) ratio(name, other string) float64 {
	return float64(c.of(name).Overload) / float64(max(1, c.of(other).Overload))
}

// Against is how much overload there is with muster, by the worse of its two ways to select nodes, as
// part of that of another contender.
func (c *Comparison) Against(other string) float64 {
	return max(c.ratio(nameMusterScheduler, other), c.ratio(nameMusterExtender, other))
}

func (c *Comparison) pending() int {
	return max(c.of(nameMusterScheduler).Pending, c.of(nameMusterExtender).Pending)
}

// Judge says what of the goals is missed.
func (c *Comparison) Judge() (missed []string) {
	miss := func(is bool, format string, a ...any) {
		if is {
			missed = append(missed, fmt.Sprintf(format, a...))
		}
	}
	miss(c.Against(nameReference) > 1, "overload is %.3f of the reference's, want at most 1", c.Against(nameReference))
	miss(c.Against(nameLeastAllocated) > 0.2, "overload is %.3f of that of LeastAllocated, want at most 0.2", c.Against(nameLeastAllocated))
	miss(c.pending() > c.of(nameReference).Pending, "%d pods are pending, with the reference %d", c.pending(), c.of(nameReference).Pending)
	return missed
}
