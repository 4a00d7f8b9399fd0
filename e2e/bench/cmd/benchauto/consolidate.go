package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/bench/lab"
)

// What is consolidated: each pod takes an eighth of a node.
const (
	workloads = 41
	replicas  = 10
	cores     = 8
	gibibytes = 32
	needed    = (workloads*replicas + cores - 1) / cores // nodes
)

const (
	// patience is a limit for what takes minutes on an idle machine.
	patience = 30 * time.Minute
	poll     = 250 * time.Millisecond
	report   = 10 * time.Second
)

// unbounded is a rescheduler that only empties nodes, as fast as it can.
func unbounded() map[string]any {
	return map[string]any{
		"mode": "Auto", "interval": "1s", "replacementTimeout": "12m",
		"makeRoom": map[string]any{"enabled": false},
		"coalesce": map[string]any{"enabled": true},
		"budgets": map[string]any{
			"rate": map[string]any{"evictions": 0}, "perPlan": 50, "nodesPerPlan": 0, "perWorkload": 0, "workloadCoolDown": "0s",
		},
	}
}

// consolidate prints how long it takes until no more nodes are in use than are needed.
func consolidate(ctx context.Context, nodes int, out io.Writer) error {
	g, err := newGround(ctx, unbounded(), out)
	if err != nil {
		return err
	}
	defer g.Close()
	for i := range nodes {
		node := newNode(fmt.Sprintf("node-%d", i))
		node.Spec.Taints = nil // no pod comes before all nodes are there
		if err := g.createNode(ctx, node); err != nil {
			return err
		}
	}
	for i := range workloads {
		if err := g.createSet(ctx, newSet(fmt.Sprintf("workload-%d", i), replicas, 1000, 1024)); err != nil {
			return err
		}
	}
	before := 0
	if err := g.watchUse(ctx, out, func(u use) bool { before = u.nodes; return u.ready == workloads*replicas }); err != nil {
		return fmt.Errorf("wait until all pods run: %w", err)
	}
	began := time.Now()
	if err := g.reschedule(ctx); err != nil {
		return err
	}
	after := 0
	if err := g.watchUse(ctx, out, func(u use) bool {
		after = u.nodes
		return u.nodes <= needed && u.ready == workloads*replicas
	}); err != nil {
		return fmt.Errorf("wait until %d nodes are in use: %w", needed, err)
	}
	fmt.Fprintf(out, "figure consolidate_41x10_s=%.1f\n", time.Since(began).Seconds())
	fmt.Fprintf(out, "figure consolidate_41x10_nodes_before=%d\nfigure consolidate_41x10_nodes_after=%d\n", before, after)
	return nil
}

// use is how many nodes have pods, and how many pods are ready.
type use struct{ nodes, ready int }

// watchUse looks at how nodes are used until it is as wanted.
func (g *ground) watchUse(ctx context.Context, out io.Writer, wanted func(use) bool) error {
	var last use
	said := time.Now()
	err := g.Await(ctx, "nodes to be used as wanted", patience, func(ctx context.Context) (bool, error) {
		pods, err := g.Client.CoreV1().Pods(corev1.NamespaceAll).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, fmt.Errorf("list pods: %w", err)
		}
		on := map[string]bool{}
		last = use{}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if pod.Spec.NodeName != "" && isTaken(pod) {
				on[pod.Spec.NodeName] = true
			}
			if isReady(pod) {
				last.ready++
			}
		}
		last.nodes = len(on)
		if time.Since(said) > report {
			said = time.Now()
			fmt.Fprintf(out, "%d nodes are in use, %d pods are ready\n", last.nodes, last.ready)
		}
		return wanted(last), nil
	})
	if errors.Is(err, lab.ErrOverdue) {
		return fmt.Errorf("%d nodes are in use, %d pods are ready: %w", last.nodes, last.ready, err)
	}
	return err
}
