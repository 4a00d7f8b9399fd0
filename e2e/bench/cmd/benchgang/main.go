// Command benchgang measures on a real control plane how groups of pods start whole: with
// the stock scheduler alone, which knows no groups ("none"), with the gang scheduling of the
// same scheduler, which is off by default ("native"), with muster beside it, and, in the cases in
// which gangs wait for each other, with muster and gangs that are gated until they have a place ("gates";
// an admission policy adds the gates). With "ahead" the scheduler knows nothing of muster, which
// lets gated gangs go that have places; with "ahead_extender" it calls it as well.
//
// These are the cases:
//
//   - many: 50 gangs of 20 on 1,000 nodes.
//   - thousand: one gang of 1,000 on 1,000 nodes.
//   - standoff: 10 gangs of 30, each of whose pods needs a node, created one pod of each
//     gang in turn, on 100 nodes. Three can start. The other seven then wait for BENCH_WAIT,
//     and what the processes need meanwhile is counted.
//   - turns: 5 gangs of 60 such pods, created in the same way. Each is deleted a second after
//     it is whole.
//   - racks: one gang of 512, two pods to a node, on 1,000 nodes in racks and blocks: as it is, and with a required block, slices
//     of 32 by rack, and of 2 by node ("near").
//   - neighbours: pods without a gang, one every 40 ms, before and while and after the seven
//     gangs of a standoff wait.
//
// One API server and one set of nodes serve all cells of a case; a cell is a contender. Each
// round runs every cell once, when the control plane has calmed down. Orders rotate and turn
// around: a machine that slows down slows all cells, and in ten rounds each of five follows each
// other equally often. The API server has the native gang API for all contenders; only the
// native scheduler has the gates on. Extender and scheduler are at work when sixteen
// clients begin to create the pods, and the clock runs from then on until the last gang
// that can start is bound whole. PodGroups exist before. There is no KWOK and no controller
// at work meanwhile: nodes are created ready, bound pods just stay.
//
// It is an error when a gang that can start does not, a node is overcommitted, or a bound pod
// moves. A gang counts as partial when some of its pods are bound at the end of a cell and
// it was never whole. Room is idle while it is kept for a member of one of muster's gangs
// that is not being bound yet.
//
// Machines with few cores are busy all the while in the first two cases: the CPU time that
// everything together needs (the effort) says what limits them, and depends less on the machine.
//
// It prints a table of medians and lines `figure NAME=VALUE`; ratios are medians of the
// rounds' ratios. BENCH_ROUNDS, BENCH_CASES and BENCH_CONTENDERS (names, separated by commas) and
// BENCH_WAIT (90s) change what is measured; BENCH_SCALE divides the numbers of nodes, of members of a gang and of
// neighbours. BENCH_BEFORE is the path of another build of muster, which becomes a contender of the first two cases
// ("before"). It runs on Linux, whose /proc says what processes need.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/quiet"
)

func main() {
	quiet.Measure("benchgang", func(ctx context.Context) error { return run(ctx, os.Getenv, os.Stdout) })
}

func run(ctx context.Context, getenv func(string) string, out io.Writer) error {
	plan, err := planFromEnv(getenv)
	if err != nil {
		return err
	}
	programs, remove, err := contender.Build(ctx, out)
	if err != nil {
		return err
	}
	defer remove()
	programs = programs.WithBefore(plan.before)
	began := time.Now()
	results := results{}
	for _, c := range plan.cases {
		if err := plan.measure(ctx, c, programs, results, out); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	fmt.Fprintf(out, "\n%d rounds in %s\n\n", plan.rounds, time.Since(began).Round(time.Second))
	results.printTable(out, plan.cases)
	results.printFigures(out)
	return nil
}

// measure runs all rounds of one case.
func (p plan) measure(ctx context.Context, c benchCase, programs contender.Programs, results results, out io.Writer) error {
	lab, err := p.newLaboratory(ctx, c, programs, out)
	if err != nil {
		return err
	}
	defer lab.Close()
	for round := range p.rounds {
		for _, who := range c.order(round) {
			came, err := lab.run(ctx, c, who)
			if err != nil {
				return fmt.Errorf("%s: %w", who, err)
			}
			at := cell{c.name, who}
			results[at] = append(results[at], came)
			fmt.Fprintf(out, "round %d/%d  %-10s  %-8s  %s\n", round+1, p.rounds, c.name, title(who), came)
		}
	}
	return nil
}
