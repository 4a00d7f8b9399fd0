package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"syscall"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/topology"
)

// Clusters have racks of 18 nodes, blocks of 8 racks and zones of 10 blocks; nodes have 8 GPUs, and 64 CPUs.
const (
	rackNodes  = 18
	blockNodes = 8 * rackNodes
	zoneNodes  = 10 * blockNodes
	nodeGPUs   = 8
)

// asked has the demands of a gang on the network, by the name of its figures.
type asked struct {
	name    string
	network placement.Network
}

func asks() []asked {
	keys := []string{levelKey(1), levelKey(2), levelKey(3)}
	return []asked{
		{"preferred", placement.Network{Levels: keys}},
		{"required", placement.Network{Levels: keys, Required: 1}},
		{"slices", placement.Network{Levels: keys, Required: 1, Slices: []topology.Slice{{Size: 32, Level: 2}, {Size: 16, Level: 3}}}},
		{"balanced", placement.Network{Levels: keys, Required: 1, Balanced: 3}},
	}
}

// speed measures how long it takes to plan places of large gangs, from the pods to their places.
func speed(ctx context.Context, o options, out, progress io.Writer) error {
	for _, size := range []struct{ pods, nodes int }{{512, 5000}, {4000, 15000}} {
		slowest := 0.0
		for _, used := range []string{"empty", "mixed"} {
			g, err := large(size.nodes/o.scale, used == "mixed")
			if err != nil {
				return err
			}
			for _, a := range asks() {
				before := processor()
				median, err := g.time(ctx, o.rounds, size.pods/o.scale/32*32, a)
				if err != nil {
					return fmt.Errorf("%d pods on %d nodes, %s, %s: %w", size.pods, size.nodes, used, a.name, err)
				}
				fmt.Fprintf(
					progress, "%d pods on %d nodes, %s, %s: %.1f ms, and %.1f ms of a processor in the mean, with the pods\n", size.pods, size.nodes,
					used, a.name, median, (processor()-before).Seconds()*1e3/float64(o.rounds),
				)
				figures.Print(out, fmt.Sprintf("topology_%d_%s_%s_ms", size.pods, used, a.name), 1, median)
				slowest = max(slowest, median)
			}
		}
		figures.Print(out, fmt.Sprintf("topology_%d_ms", size.pods), 1, slowest)
	}
	return nil
}

// large is a cluster of nodes that are empty, or have any number of their GPUs free.
func large(nodes int, mixed bool) (*ground, error) {
	g, err := newGround()
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := range nodes {
		offers := amounts{8 * nodeGPUs, nodeGPUs}
		if err := g.cluster.Set(nodeObject(n, []int{n / zoneNodes, n / blockNodes, n / rackNodes}, offers)); err != nil {
			return nil, err
		}
		if taken := random.IntN(nodeGPUs + 1); mixed && taken > 0 {
			if err := g.running(podObject("running", n, amounts{8 * taken, taken}, false), n); err != nil {
				return nil, err
			}
		}
	}
	return g, nil
}

// time returns the median time in milliseconds of plans for pods that ask for a GPU each and are of a Job that is new each time.
func (g *ground) time(ctx context.Context, rounds, count int, a asked) (float64, error) {
	var times []float64
	for round := range rounds {
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		var pods []*cluster.Pod
		for i := range count {
			pods = append(pods, cluster.NewPod(podObject(fmt.Sprintf("%s-%d", a.name, round), i, amounts{4, 1}, false)))
		}
		began := time.Now()
		plan := placement.New(g.store, pods, 1)
		result := plan.PlaceTogether([]placement.Demand{{Pods: pods, AtLeast: count, Network: &a.network}}, time.Time{})
		plan.Close()
		times = append(times, time.Since(began).Seconds()*1e3)
		if !result.Kept || result.Cut {
			return 0, fmt.Errorf("%d of %d pods have places", result.Enough[0].Placed, count)
		}
	}
	return figures.Median(times), nil
}

// processor is for how long the program was at work, on all processors together.
func processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
