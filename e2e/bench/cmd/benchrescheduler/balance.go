package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"muster.dev/muster/e2e/bench/loadreplay"
)

// A day of measured load, on machines that are half used. A node is overloaded that uses as much as Relieve calls hot.
const (
	loadedNodes    = 60
	loadedCores    = 16
	meanLoad       = 0.5 // of what nodes offer
	requestedLoad  = 1.6 // what pods request, times what they use in the mean
	podsOfWorkload = 5
	overloaded     = 0.8
	minutesOfDay   = 24 * 60
	planetLab      = "planetlab_20110303.csv"
)

// loadedPod is a pod with the CPU that it uses, in thousandths, in each step of the day.
type loadedPod struct {
	request  int64
	workload int
	uses     []int64
}

// loadedDay is pods on nodes, and how load goes on.
type loadedDay struct {
	pods  []loadedPod
	on    []int   // the node of each pod
	steps int     // of the traces
	used  [][]int // by node and step: what it uses
}

// drawDay puts pods on nodes by what they request, as kube-scheduler would: where the least is requested.
func drawDay(traces loadreplay.Traces, random *rand.Rand) *loadedDay {
	d := &loadedDay{steps: len(traces[0]), used: make([][]int, loadedNodes)}
	requested := make([]int64, loadedNodes)
	for n := range d.used {
		d.used[n] = make([]int, d.steps)
	}
	total := 0.0
	for workload := 0; total < meanLoad*loadedNodes*loadedCores*1000; workload++ {
		cores := []float64{2, 4, 8}[random.IntN(3)]
		var of []loadedPod
		mean := 0.0
		for range podsOfWorkload {
			pod := loadedPod{workload: workload}
			for _, percent := range traces[random.IntN(len(traces))] {
				pod.uses = append(pod.uses, int64(percent*cores*10))
				mean += percent * cores * 10 / float64(d.steps) / podsOfWorkload
			}
			of = append(of, pod)
		}
		total += mean * podsOfWorkload
		for _, pod := range of { // all of a workload request the same
			pod.request = int64(requestedLoad * mean)
			best := 0
			for n := range requested {
				if requested[n] < requested[best] {
					best = n
				}
			}
			requested[best] += pod.request
			d.pods, d.on = append(d.pods, pod), append(d.on, best)
			d.add(best, pod.uses, +1)
		}
	}
	return d
}

func (d *loadedDay) add(node int, uses []int64, sign int) {
	for step, use := range uses {
		d.used[node][step] += sign * int(use)
	}
}

func (d *loadedDay) move(pod, to int) {
	d.add(d.on[pod], d.pods[pod].uses, -1)
	d.add(to, d.pods[pod].uses, +1)
	d.on[pod] = to
}

// over says that a node is overloaded that uses so much.
func over(use int) bool { return use >= overloaded*loadedCores*1000 }

// overloadedAt is how many nodes are overloaded in a step.
func (d *loadedDay) overloadedAt(step int) (count int) {
	for n := range d.used {
		if over(d.used[n][step]) {
			count++
		}
	}
	return count
}

func (d *loadedDay) clone() *loadedDay {
	c := &loadedDay{pods: d.pods, on: slices.Clone(d.on), steps: d.steps}
	for _, used := range d.used {
		c.used = append(c.used, slices.Clone(used))
	}
	return c
}

// windows are the times over which usage is averaged when days are replayed, and the suffixes of their figures: the
// default of load.prometheus, and a longer time, which shows less noise.
var windows = []struct {
	name string
	time time.Duration
}{{"", 2 * time.Minute}, {"_15m", 15 * time.Minute}}

// balance replays days of load with each window.
func balance(ctx context.Context, o options, data string, out, progress io.Writer) error {
	traces, err := loadTraces(data, progress)
	if err != nil {
		return err
	}
	for _, window := range windows {
		var sum outcome
		pods := 0
		for seed := range o.days {
			day := drawDay(traces, rand.New(rand.NewPCG(uint64(seed), 7)))
			found, err := replay(ctx, day, window.time)
			if err != nil {
				return err
			}
			fmt.Fprintf(
				progress, "balance, day %d, a window of %s: %d pods, overloaded node-minutes %d, with muster %d, with an oracle %d, %d moves\n",
				seed, window.time, len(day.pods), found.without, found.with, found.oracle, found.moves,
			)
			sum, pods = sum.plus(found), pods+len(day.pods)
		}
		days := float64(o.days)
		figure(out, "balance_overloaded_node_minutes_without"+window.name, float64(sum.without)/days)
		figure(out, "balance_overloaded_node_minutes"+window.name, float64(sum.with)/days)
		figure(out, "balance_overloaded_node_minutes_oracle"+window.name, float64(sum.oracle)/days)
		figure(out, "balance_gain_vs_oracle"+window.name, float64(sum.without-sum.with)/float64(max(1, sum.without-sum.oracle)))
		figure(out, "balance_moves_per_pod_day"+window.name, float64(sum.moves)/float64(pods))
	}
	return nil
}

// outcome is how many minutes nodes were overloaded in a day as it is, with muster, and with an oracle that makes as many
// moves at the same times; and how many.
type outcome struct{ without, with, oracle, moves int }

func (o outcome) plus(p outcome) outcome {
	return outcome{o.without + p.without, o.with + p.with, o.oracle + p.oracle, o.moves + p.moves}
}

// replay lives a day with Relieve and Balance as they are by default, but that they are on.
func replay(ctx context.Context, day *loadedDay, window time.Duration) (found outcome, err error) {
	mine, err := newBalancing(day.clone(), window)
	if err != nil {
		return found, err
	}
	oracle, perStep := day.clone(), int(loadreplay.Step/time.Minute)
	for minute := range min(minutesOfDay, day.steps*perStep) {
		if ctx.Err() != nil {
			return found, ctx.Err()
		}
		step := minute / perStep
		moves, err := mine.minute(minute)
		if err != nil {
			return found, err
		}
		for range moves {
			oracle.improve(step)
		}
		found = found.plus(outcome{day.overloadedAt(step), mine.day.overloadedAt(step), oracle.overloadedAt(step), moves})
	}
	return found, nil
}

func loadTraces(data string, progress io.Writer) (loadreplay.Traces, error) {
	if data == "" {
		fmt.Fprintf(progress, "%s is not set: load is generated, with the statistics of PlanetLab\n", dataEnv)
		return loadreplay.GenerateTraces(1000, rand.New(rand.NewPCG(1, 1))), nil
	}
	table, err := os.Open(filepath.Join(data, planetLab))
	if err != nil {
		return nil, fmt.Errorf("open traces: %w", err)
	}
	defer table.Close()
	return loadreplay.ReadTraces(table)
}

// improve makes the move that removes the most overloaded time from a step on, knowing all that is to come: of any pod to
// any node whose requests allow it. It makes none if none removes any.
func (d *loadedDay) improve(from int) {
	requested := make([]int64, loadedNodes)
	for pod, node := range d.on {
		requested[node] += d.pods[pod].request
	}
	bestGain, bestPod, bestTo := 0, -1, -1
	for pod, node := range d.on {
		relieved := d.relieves(pod, from)
		for to := range d.used {
			if relieved <= bestGain || to == node || requested[to]+d.pods[pod].request > loadedCores*1000 {
				continue
			}
			if gain := relieved - d.burdens(pod, to, from); gain > bestGain {
				bestGain, bestPod, bestTo = gain, pod, to
			}
		}
	}
	if bestPod >= 0 {
		d.move(bestPod, bestTo)
	}
}

// relieves is in how many steps, from one on, its node is overloaded and would not be without a pod.
func (d *loadedDay) relieves(pod, from int) (steps int) {
	used, uses := d.used[d.on[pod]], d.pods[pod].uses
	for step := from; step < d.steps; step++ {
		if over(used[step]) && !over(used[step]-int(uses[step])) {
			steps++
		}
	}
	return steps
}

// burdens is in how many steps, from one on, another node is not overloaded and would be with a pod.
func (d *loadedDay) burdens(pod, to, from int) (steps int) {
	used, uses := d.used[to], d.pods[pod].uses
	for step := from; step < d.steps; step++ {
		if !over(used[step]) && over(used[step]+int(uses[step])) {
			steps++
		}
	}
	return steps
}
