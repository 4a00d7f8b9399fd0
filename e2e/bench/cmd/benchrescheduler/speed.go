package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/rescheduler/planner"
)

const (
	podsPerNode  = 30
	applications = 400
	zones        = 5
	manyPods     = 100
)

// speed measures how long it takes to plan on a large cluster.
func speed(ctx context.Context, o options, out, progress io.Writer) error {
	fmt.Fprintf(progress, "planning on %d nodes with %d pods\n", o.nodes, o.nodes*podsPerNode)
	l, apps := large(o.nodes)
	problem, _, err := l.problemWith(decorate)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(2, 0))
	var times []time.Duration
	var bytes []uint64
	placed := 0
	for round := range o.rounds {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		groups := waiting(problem.Snapshot, apps, random, 1)
		problem.Seed = uint64(round)
		before := allocated()
		plan := problem.MakeRoom(groups)
		times, bytes = append(times, plan.Took), append(bytes, allocated()-before)
		placed += len(plan.Placements)
	}
	fmt.Fprintf(
		progress, "one pending pod: median %s, slowest %s; %d of %d got a place\n",
		figures.Quantile(times, 50), figures.Quantile(times, 100), placed, o.rounds,
	)
	figure(out, "plan_one_pending_ms", milliseconds(figures.Quantile(times, 99)))
	figure(out, "plan_one_pending_median_ms", milliseconds(figures.Quantile(times, 50)))
	figure(out, "plan_one_pending_mb", float64(figures.Quantile(bytes, 50))/(1<<20))

	problem.Limits.Time = 9 * time.Second
	before := allocated()
	plan := problem.MakeRoom(waiting(problem.Snapshot, apps, random, manyPods))
	fmt.Fprintf(progress, "%d pending pods: %d placed with %d evictions in %s\n", manyPods, len(plan.Placements), len(plan.Steps), plan.Took)
	figure(out, "plan_100_pending_ms", milliseconds(plan.Took))
	figure(out, "plan_100_pending_placed", float64(len(plan.Placements)))
	figure(out, "plan_100_pending_mb", float64(allocated()-before)/(1<<20))
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// allocated is how many bytes were ever allocated.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// large returns a cluster of nodes with a tenth free, and the pods on them.
func large(nodes int) (l *layout, apps []shape) {
	random := rand.New(rand.NewPCG(1, 0))
	for range applications {
		cpu := 250 + 250*min(random.Int64N(20), random.Int64N(20))
		apps = append(apps, shape{cpu, cpu * (2 + random.Int64N(5)), 0})
	}
	l = &layout{}
	for range nodes {
		var taken shape
		var running []shape
		for range podsPerNode {
			app := apps[min(random.IntN(applications), random.IntN(applications))]
			running, taken = append(running, app), taken.plus(app, +1)
		}
		l.nodes = append(l.nodes, shape{taken[0] * 110 / 100, taken[1] * 110 / 100, 0})
		l.running = append(l.running, running)
	}
	return l, apps
}

// decorate puts nodes into zones, and has one of ten applications keep apart and one spread
// over the zones.
func decorate(object metav1.Object) {
	switch o := object.(type) {
	case *corev1.Node:
		o.Labels[corev1.LabelTopologyZone] = fmt.Sprint("zone-", o.Name[len(o.Name)-1]%zones)
	case *corev1.Pod:
		same := &metav1.LabelSelector{MatchLabels: o.Labels}
		switch o.Spec.Containers[0].Resources.Requests.Memory().Value() >> 20 % 10 {
		case 1:
			o.Spec.Affinity = &corev1.Affinity{
				PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
					Weight: 1, PodAffinityTerm: corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: same},
				}}},
			}
		case 2:
			o.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 50, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: same,
			}}
		}
	}
}

// waiting are pods that ask for more than is free anywhere.
func waiting(snap *cluster.Snapshot, apps []shape, random *rand.Rand, count int) []planner.Group {
	var pods []*cluster.Pod
	for i := range count {
		asked := shape{8_000 + 500*random.Int64N(8), 24_000, 0}
		pods = append(pods, cluster.NewPod(asked.pod(fmt.Sprintf("waiting-%d-%d", len(apps), i), "")))
	}
	return (&planner.Problem{Snapshot: snap}).Pending(pods)
}
