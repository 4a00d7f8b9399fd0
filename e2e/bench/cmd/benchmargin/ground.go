package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

const (
	writers  = 8 // of pods, and as many of nominations
	patience = 5 * time.Minute
	poll     = 50 * time.Millisecond
	gate     = "example.com/keeps-room"
)

// ground is a control plane with a stock scheduler and nodes with room for one pod each.
type ground struct {
	controlPlane *controlplane.ControlPlane
	client       kubernetes.Interface
	nodes        []string
}

// newGround starts everything. The caller must call close.
func newGround(ctx context.Context, limited bool, nodes int, out io.Writer) (g *ground, err error) {
	g = &ground{}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if g.controlPlane, err = controlplane.Start(
		ctx, controlplane.Options{Controllers: controlplane.PodCreation(), Progress: out},
	); err != nil {
		return g, err
	}
	if g.client, err = kubernetes.NewForConfig(g.controlPlane.RESTConfig()); err != nil {
		return g, fmt.Errorf("connect to the control plane: %w", err)
	}
	err = each(ctx, nodes, func(ctx context.Context, i int) error {
		_, err := g.client.CoreV1().Nodes().Create(ctx, workload.ReadyNode(fmt.Sprintf("node-%d", i), 1, 16, 20), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return g, fmt.Errorf("create nodes: %w", err)
	}
	for i := range nodes {
		g.nodes = append(g.nodes, fmt.Sprintf("node-%d", i))
	}
	return g, g.controlPlane.StartScheduler(ctx, controlplane.SchedulerOptions{Limited: limited})
}

// close ends everything.
func (g *ground) close() {
	if g.controlPlane != nil {
		g.controlPlane.Stop()
	}
}

// each does something for so many numbers, by several goroutines.
func each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
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
	for _, c := range now.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable && l.refused.IsZero() {
			l.refused = at
		}
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

// result is what was written down until now.
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
	pods := g.client.CoreV1().Pods(workload.Namespace)
	err := each(ctx, len(g.nodes), func(ctx context.Context, i int) error {
		pod := workload.PlainPod(fmt.Sprintf("keeper-%d-%d", number, i), 1000)
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
	watch, err := podwatch.StartFor(ctx, g.client, "", o.changed)
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	group, both := errgroup.WithContext(ctx)
	group.Go(func() error {
		return each(both, len(g.nodes), func(ctx context.Context, i int) error {
			_, err := pods.Create(ctx, workload.PlainPod(fmt.Sprintf("racer-%d-%d", number, i), 1000), metav1.CreateOptions{})
			return err
		})
	})
	group.Go(func() error {
		return each(both, len(g.nodes), func(ctx context.Context, i int) error {
			patch, err := json.Marshal(map[string]any{"status": map[string]any{"nominatedNodeName": g.nodes[i]}})
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
	if err := g.eventually(ctx, "all pods are bound or refused", func() (bool, error) {
		return o.tried() == len(g.nodes), nil
	}); err != nil {
		return nil, err
	}
	result := o.result() // the room of gated pods is free as soon as they are deleted
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}); err != nil {
		return nil, fmt.Errorf("delete pods: %w", err)
	}
	if err := g.eventually(ctx, "all pods are gone", func() (bool, error) {
		left, err := watch.Pods()
		return len(left) == 0, err
	}); err != nil {
		return nil, err
	}
	return result, nil
}

// eventually polls until something is so.
func (g *ground) eventually(ctx context.Context, what string, is func() (bool, error)) error {
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(context.Context) (bool, error) { return is() })
	if err != nil {
		return errors.Join(fmt.Errorf("wait until %s", what), err)
	}
	return nil
}
