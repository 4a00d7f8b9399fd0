// Command benchmargin measures how long a stock kube-scheduler may go on to bind pods to a node after the watch has
// shown that a gated pod is nominated there: it took them up before it saw the nomination.
//
// Each node has room for one pod. The number of pods equals the number of nodes; meanwhile a gated pod is nominated to
// every node, by the same priority. A trial is a nomination that the watch showed while no pod was bound to its node. A
// trial is raced when a pod is bound to the node nevertheless, after this long. The scheduler runs with its default
// limits on calls to the API server (50 a second, 100 at once: its decisions wait for their turn) and without any.
//
// Three rules say when the place is taken for kept: a margin after the nomination was shown; when all pods that had been
// created by then were bound or refused; and a margin after that, as muster does. For each of them it is counted how
// many trials are raced later.
//
// It prints lines `figure NAME=VALUE`. BENCH_TRIALS (10000) says how many trials there are at least for each limit,
// BENCH_NODES (500) of how many nodes the cluster is.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/quiet"
)

const (
	trialsEnv     = "BENCH_TRIALS"
	nodesEnv      = "BENCH_NODES"
	defaultTrials = 10_000
	defaultNodes  = 500
	maxNumber     = 1_000_000
	// lastHope is the round by which there must be a trial.
	lastHope = 9
)

// margin is the time that muster waits by default.
const margin = 250 * time.Millisecond

func main() {
	quiet.Measure("benchmargin", func(ctx context.Context) error { return run(ctx, os.Getenv, os.Stdout) })
}

func run(ctx context.Context, getenv func(string) string, out io.Writer) error {
	trials, err := figures.FromEnv(getenv, trialsEnv, defaultTrials, maxNumber)
	if err != nil {
		return err
	}
	nodes, err := figures.FromEnv(getenv, nodesEnv, defaultNodes, maxNumber)
	if err != nil {
		return err
	}
	for _, limits := range []struct {
		name    string
		limited bool
	}{{"default", true}, {"none", false}} {
		all, err := measure(ctx, limits.limited, nodes, trials, out)
		if err != nil {
			return fmt.Errorf("limits %s: %w", limits.name, err)
		}
		printFigures(out, limits.name, all)
	}
	return nil
}

// measure runs rounds on one control plane until there are enough trials.
func measure(ctx context.Context, limited bool, nodes, trials int, out io.Writer) ([]trial, error) {
	g, err := newGround(ctx, limited, nodes, out)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	var all []trial
	for number := 0; len(all) < trials; number++ {
		log, err := g.round(ctx, number)
		if err != nil {
			return nil, fmt.Errorf("round %d: %w", number, err)
		}
		found := log.trials()
		if all = append(all, found...); len(all) == 0 && number == lastHope {
			return nil, fmt.Errorf("in %d rounds every node was taken before it was nominated: nothing is measured", number+1)
		}
		fmt.Fprintf(out, "round %d: %d of %d trials, %d of them raced\n", number+1, len(all), trials, races(all))
	}
	return all, nil
}
