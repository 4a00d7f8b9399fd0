package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

const (
	writers  = 8 // of pods, and as many of nominations
	patience = 5 * time.Minute
	gate     = "example.com/keeps-room"
)

// ground is a control plane with a stock scheduler and nodes with room for one pod each.
type ground struct {
	*lab.Lab
	numbers []int // of the nodes
}

// newGround starts everything. The caller must call Close.
func newGround(ctx context.Context, limited bool, count int, out io.Writer) (*ground, error) {
	g := &ground{}
	var nodes []*corev1.Node
	for i := range count {
		nodes, g.numbers = append(nodes, workload.NewNode(fmt.Sprintf("node-%d", i), "1", workload.Room(16, 20))), append(g.numbers, i)
	}
	var err error
	if g.Lab, err = lab.Start(ctx, lab.Options{Nodes: nodes}, out); err != nil {
		return nil, err
	}
	if err := g.StartScheduler(ctx, controlplane.SchedulerOptions{Limited: limited}); err != nil {
		g.Close()
		return nil, err
	}
	return g, nil
}

// observer writes down what the watch shows of a round.
type observer struct {
	mu    sync.Mutex
	lives map[string]*life
	log   log
}

func (o *observer) changed(_, now *corev1.Pod) {
	if now == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	at := time.Now()
	if node := now.Status.NominatedNodeName; len(now.Spec.SchedulingGates) > 0 {
		if node != "" && o.log.nominated[node].IsZero() {
			o.log.nominated[node] = at
		}
		return
	}
	l := o.lives[now.Name]
	if l == nil {
		l = &life{created: at}
		o.lives[now.Name] = l
	}
	if node := now.Spec.NodeName; node != "" && l.bound.IsZero() {
		l.bound, o.log.bound[node] = at, at
	}
	if lab.IsRefused(now) && l.refused.IsZero() {
		l.refused = at
	}
}

// tried is how many pods are bound or refused.
func (o *observer) tried() (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, l := range o.lives {
		if !l.tried().IsZero() {
			n++
		}
	}
	return n
}

// result returns what was written down until now.
func (o *observer) result() *log {
	o.mu.Lock()
	defer o.mu.Unlock()
	l := &log{nominated: maps.Clone(o.log.nominated), bound: maps.Clone(o.log.bound)}
	for _, pod := range o.lives {
		l.pods = append(l.pods, *pod)
	}
	return l
}

// round has pods race with nominations for all nodes, and removes both.
func (g *ground) round(ctx context.Context, number int) (*log, error) {
	pods := g.Client.CoreV1().Pods(workload.Namespace)
	err := lab.Each(ctx, writers, g.numbers, func(ctx context.Context, i int) error {
		pod := workload.NewPod(fmt.Sprintf("keeper-%d-%d", number, i), "1")
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: gate}}
		_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("create gated pods: %w", err)
	}
	o := &observer{
		lives: map[string]*life{},
		log:   log{nominated: map[string]time.Time{}, bound: map[string]time.Time{}},
	}
	watch, err := podwatch.StartFor(ctx, g.Client, "", o.changed)
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error {
		return lab.Each(both, writers, g.numbers, func(ctx context.Context, i int) error {
			_, err := pods.Create(ctx, workload.NewPod(fmt.Sprintf("racer-%d-%d", number, i), "1"), metav1.CreateOptions{})
			return err
		})
	})
	group.Go(func() error {
		return lab.Each(both, writers, g.numbers, func(ctx context.Context, i int) error {
			patch, err := json.Marshal(map[string]any{"status": map[string]any{"nominatedNodeName": g.Nodes[i].Name}})
			if err != nil {
				return err
			}
			_, err = pods.Patch(ctx, fmt.Sprintf("keeper-%d-%d", number, i), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
			return err
		})
	})
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("race: %w", err)
	}
	if err := g.Await(ctx, "all pods to be bound or refused", patience, func(context.Context) (bool, error) {
		return o.tried() == len(g.Nodes), nil
	}); err != nil {
		return nil, err
	}
	result := o.result() // the room of gated pods is free as soon as they are deleted
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}); err != nil {
		return nil, fmt.Errorf("delete pods: %w", err)
	}
	if err := g.Await(ctx, "all pods to be gone", patience, func(context.Context) (bool, error) {
		left, err := watch.Pods()
		return len(left) == 0, err
	}); err != nil {
		return nil, err
	}
	return result, nil
}
