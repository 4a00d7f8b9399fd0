package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/effort"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

const cellTimeout = 5 * time.Minute

// laboratory is a control plane with nodes, on which cells run one after the other.
type laboratory struct {
	*lab.Lab
	programs contender.Programs
	settled  []*corev1.Pod // pods that are there throughout
}

// measured labels the pods of a cell.
const measured = "example.com/measured"

// measurement is the outcome of a cell in one round.
type measurement struct {
	rate float64 // pods per second
	// lead is how long muster had before the scheduler started, where it had any.
	lead time.Duration
	// each pod but the first few has cost this.
	each effort.PerPod
}

// run measures how fast a contender binds the pods, looks whether it was right to put
// them there, and leaves none behind.
func (l laboratory) run(ctx context.Context, c cell, arriving []*corev1.Pod) (measurement, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, cellTimeout, fmt.Errorf("gave up after %s", cellTimeout))
	defer cancel()
	for _, p := range arriving {
		p.Labels = maps.Clone(p.Labels) // selectors of the pod may share them
		p.Labels[measured] = ""
		if c.optedIn {
			p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.AheadGate}}
		}
	}
	watch, err := podwatch.StartFor(ctx, l.Client, measured)
	if err != nil {
		return measurement{}, err
	}
	defer watch.Stop()
	m, err := l.meet(ctx, c, workload.Cluster{Pods: arriving}, watch)
	if err != nil {
		return measurement{}, err
	}
	defer m.entry.Stop()
	each, err := effort.Follow(ctx, l.Lab, m.entry, watch, len(arriving), cellTimeout)
	if err != nil {
		return measurement{}, fmt.Errorf("%d of %d pods are bound: %w", watch.Tally().Bound, len(arriving), err)
	}
	m.entry.Stop()
	bound, err := watch.Pods()
	if err != nil {
		return measurement{}, err
	}
	if c.contender != contender.EmptyOffload {
		if err := l.judge(append(bound, l.settled...)); err != nil {
			return measurement{}, err
		}
	}
	return measurement{m.rate(watch.Tally()), m.lead, each}, workload.DeletePods(ctx, l.Client, measured)
}

// judge is an error when a node has no room for its pods, or pods do not keep apart.
func (l laboratory) judge(pods []*corev1.Pod) error {
	if err := l.Fit(pods); err != nil {
		return err
	}
	return fit.Apart(l.Nodes, pods)
}
