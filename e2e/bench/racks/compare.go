package racks

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"text/tabwriter"
	"time"

	"muster.dev/muster/e2e/bench/figures"
)

// musterName is the contender that the others are held against.
const musterName = "muster, WholeDomains"

// jobsOf is jobs for a cluster.
type jobsOf struct {
	name string
	on   shape
	jobs []*job
	over time.Duration
}

// shapes are the clusters of the benchmark.
func shapes() []shape {
	return []shape{{"racks of 18 nodes with 4 GPUs", 4, 4, 18, 4}, {"racks of 8 nodes with 8 GPUs", 4, 8, 8, 8}}
}

// workloads draws what is replayed on a shape: jobs like Philly's, and openb's pods with gangs beside them if there is a trace.
func workloads(on shape, load float64, seed uint64, t Trace, over time.Duration) (all []jobsOf) {
	random := func(source uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, source)) }
	all = append(all, jobsOf{"Philly-shaped", on, philly().draw(on, load, over, random(0)), over})
	if t != nil {
		mixed := jobsOf{name: "openb with gangs", on: on}
		mixed.on.blocks /= 2 // else the trace is over within hours
		mixed.jobs, mixed.over = openB().mix(t, mixed.on, load, random(1))
		all = append(all, mixed)
	}
	return all
}

// total sums up the outcomes of several workloads by one rule.
type total struct {
	gangs, whole         int
	free, use            float64 // sums over the runs
	wait, uneven         float64 // seconds, and pods
	left, runs, unevenOf int
}

func (t *total) add(r *result) {
	t.gangs, t.whole, t.left, t.runs = t.gangs+r.gangs, t.whole+r.whole, t.left+r.left, t.runs+1
	t.free, t.use, t.wait = t.free+r.freeRacks(), t.use+r.use(), t.wait+r.largestWait().Seconds()
	if len(r.uneven) > 0 {
		t.uneven, t.unevenOf = t.uneven+r.imbalance(), t.unevenOf+1
	}
}

func (t *total) wholePart() float64 { return float64(t.whole) / float64(max(1, t.gangs)) }

func (t *total) per(sum float64) float64 { return sum / float64(max(1, t.runs)) }

// Compare replays the same jobs by the rules of peers and by muster, for a number of seeds, and prints tables and figures. Drawn jobs
// come for some days. Without a trace of openb's, its jobs are left out.
func Compare(ctx context.Context, out io.Writer, trace Trace, seeds, days int) error {
	overall := map[string]*total{}
	for _, on := range shapes() {
		for _, load := range []float64{0.6, 0.8} {
			tables, order := map[string]map[string]*total{}, []string{}
			for seed := range uint64(seeds) {
				for _, w := range workloads(on, load, seed, trace, time.Duration(days)*24*time.Hour) {
					if tables[w.name] == nil {
						tables[w.name], order = map[string]*total{}, append(order, w.name)
					}
					if err := w.compare(ctx, tables[w.name], overall); err != nil {
						return err
					}
				}
			}
			for _, name := range order {
				fmt.Fprintf(out, "%s, %s, asking for %.0f %% of the GPUs, %d seeds\n\n", name, on.name, 100*load, seeds)
				printTable(out, tables[name])
			}
		}
	}
	fmt.Fprint(out, "all together\n\n")
	printTable(out, overall)
	printFigures(out, overall)
	return nil
}

// names are the contenders in the order of tables.
func names() (all []string) {
	for _, p := range peers() {
		all = append(all, p.name)
	}
	return append(all, musterName)
}

// ruleOf returns the rule of a contender for one run.
func ruleOf(name string, on shape) (rule, error) {
	for _, p := range peers() {
		if p.name == name {
			return p, nil
		}
	}
	return newMuster(on)
}

// compare replays jobs by all rules.
func (w *jobsOf) compare(ctx context.Context, totals ...map[string]*total) error {
	for _, name := range names() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		by, err := ruleOf(name, w.on)
		if err != nil {
			return err
		}
		r, err := replay(w.on, w.jobs, w.over, by)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", w.name, name, err)
		}
		for _, t := range totals {
			if t[name] == nil {
				t[name] = &total{}
			}
			t[name].add(&r)
		}
	}
	return nil
}

func printTable(out io.Writer, totals map[string]*total) {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\twhole racks free %\tGPUs in use %\tgangs whole at once %\twait of the largest tenth\timbalance\tnever started\t")
	for _, name := range names() {
		t := totals[name]
		fmt.Fprintf(
			table, "%s\t%.1f\t%.1f\t%.1f\t%s\t%.1f\t%d\t\n", name, 100*t.per(t.free), 100*t.per(t.use), 100*t.wholePart(),
			time.Duration(t.per(t.wait)*float64(time.Second)).Round(time.Second), t.uneven/float64(max(1, t.unevenOf)), t.left,
		)
	}
	_ = table.Flush() // as errors of out
	fmt.Fprintln(out)
}

// printFigures holds muster against the best peer by each measure.
func printFigures(out io.Writer, totals map[string]*total) {
	var whole, free float64
	for _, p := range peers() {
		whole, free = max(whole, totals[p.name].wholePart()), max(free, totals[p.name].free)
	}
	ours := totals[musterName]
	figures.Print(out, "topology_gangs_whole_vs_best_peer", 3, ours.wholePart()/whole)
	figures.Print(out, "free_whole_racks_vs_best_peer", 3, ours.free/free)
	for _, p := range peers() {
		figures.Print(out, "free_whole_racks_vs_"+p.figure, 3, ours.free/totals[p.name].free)
	}
	figures.Print(out, "topology_largest_wait_seconds", 0, ours.per(ours.wait))
	figures.Print(out, "topology_replayed_imbalance", 2, ours.uneven/float64(max(1, ours.unevenOf)))
}
