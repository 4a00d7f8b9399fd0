package main

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/planner"
)

// layout is a cluster: which pods are on which nodes, and which wait.
type layout struct {
	nodes   []shape
	running [][]shape
	pending []shape
}

// fill places pods of the trace, in any order, where the most is free, until a number of them in a
// row fit nowhere, and then deletes a part of them.
func fill(nodes, pods []shape, random *rand.Rand, failures int, deleted float64) *layout {
	l := &layout{nodes: nodes, running: make([][]shape, len(nodes))}
	free := append([]shape(nil), nodes...)
	order := random.Perm(len(pods))
	for at, failed := 0, 0; at < len(order) && failed < failures; at++ {
		pod := pods[order[at]]
		best, most := -1, -1.0
		for n := range nodes {
			if pod.fitsInto(free[n]) && len(l.running[n]) < mostPods && leastAllocated(nodes[n], free[n]) > most {
				best, most = n, leastAllocated(nodes[n], free[n])
			}
		}
		if best < 0 {
			failed++
			continue
		}
		failed = 0
		free[best] = free[best].plus(pod, -1)
		l.running[best] = append(l.running[best], pod)
	}
	for n := range l.running {
		var kept []shape
		for _, pod := range l.running[n] {
			if random.Float64() >= deleted {
				kept = append(kept, pod)
			}
		}
		l.running[n] = kept
	}
	return l
}

// leastAllocated is the mean of what is free of CPU and memory, in parts of what is offered.
func leastAllocated(offered, free shape) float64 {
	return (float64(free[0])/float64(offered[0]) + float64(free[1])/float64(offered[1])) / 2
}

func (l *layout) free(n int) shape {
	free := l.nodes[n]
	for _, pod := range l.running[n] {
		free = free.plus(pod, -1)
	}
	return free
}

func (l *layout) fits(pod shape) bool {
	for n := range l.nodes {
		if pod.fitsInto(l.free(n)) && len(l.running[n]) < mostPods {
			return true
		}
	}
	return false
}

// problem is the layout as the planner sees it.
func (l *layout) problem() (*planner.Problem, []planner.Group, error) {
	return l.problemWith(func(metav1.Object) {})
}

// problemWith changes what it is made of.
func (l *layout) problemWith(change func(metav1.Object)) (*planner.Problem, []planner.Group, error) {
	profile, err := predicates.NewProfile(&config.Default().Profiles[0])
	if err != nil {
		return nil, nil, err
	}
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	for n, offered := range l.nodes {
		name := fmt.Sprintf("node-%04d", n)
		object := offered.node(name)
		change(object)
		if err := c.Set(object); err != nil {
			return nil, nil, err
		}
		for i, pod := range l.running[n] {
			object := pod.pod(fmt.Sprintf("running-%04d-%03d", n, i), name)
			change(object)
			if err := c.Set(object); err != nil {
				return nil, nil, err
			}
		}
	}
	var waiting []*cluster.Pod
	for i, pod := range l.pending {
		waiting = append(waiting, cluster.NewPod(pod.pod(fmt.Sprintf("pending-%03d", i), "")))
	}
	snap := c.Snapshot()
	problem := &planner.Problem{Snapshot: snap, Profiles: []*predicates.Profile{profile}, Clock: clock.RealClock{}}
	return problem, problem.Pending(waiting), nil
}
