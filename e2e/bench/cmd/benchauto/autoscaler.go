package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What Cluster Autoscaler does by default, in the time of the day.
const (
	scanInterval   = 10 * time.Second
	provisioning   = 90 * time.Second // until a node that was asked for is ready
	delayAfterAdd  = 10 * time.Minute
	unneededTime   = 10 * time.Minute
	threshold      = 0.5 // of what a node offers: one with less is removed if its pods fit elsewhere
	leastNodes     = 3
	mostNodes      = 300
	taintDeleted   = "ToBeDeletedByClusterAutoscaler"
	fastestScan    = 200 * time.Millisecond // that a control plane bears
	beforeDeletion = 300 * time.Millisecond // until kube-scheduler has seen a taint
)

// autoscaler stands in for Cluster Autoscaler: it adds nodes for pods that fit nowhere, and removes unneeded nodes, by
// the same rules as far as these are about requests. It knows nothing of muster except its taints.
type autoscaler struct {
	ground *ground
	view   *view
	pace   pace

	coming   []time.Time // when nodes are ready that were asked for
	made     int         // nodes, for their names
	added    time.Time   // the last node
	unneeded map[string]time.Time
	removed  int
}

func newAutoscaler(g *ground, v *view, p pace) *autoscaler {
	return &autoscaler{ground: g, view: v, pace: p, unneeded: map[string]time.Time{}}
}

// run works until the context ends.
func (a *autoscaler) run(ctx context.Context) error {
	ticker := time.NewTicker(max(a.pace.of(scanInterval), fastestScan))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := a.scan(ctx, time.Now()); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func (a *autoscaler) scan(ctx context.Context, now time.Time) error {
	for len(a.coming) > 0 && !now.Before(a.coming[0]) {
		a.coming = a.coming[1:]
		a.made++
		if err := a.ground.createNode(ctx, newNode(fmt.Sprintf("added-%d", a.made))); err != nil {
			return err
		}
		a.added = now
	}
	for _, node := range a.view.allNodes() {
		if isStarting(node) && nodeIsReady(node) {
			if err := a.taint(ctx, node.Name, corev1.TaintNodeNotReady, false); err != nil {
				return err
			}
		}
	}
	layout := newLayout(a.view.allNodes(), a.view.taken())
	a.scaleUp(layout, now)
	return a.scaleDown(ctx, layout, now)
}

// scaleUp asks for nodes for the pods that fit neither the present nodes nor the coming ones.
func (a *autoscaler) scaleUp(l *layout, now time.Time) {
	var bins []room
	for range len(a.coming) + l.starting() {
		bins = append(bins, offers(newNode("")))
	}
	for _, pod := range l.waiting {
		if l.place(pod, "") {
			continue
		}
		need, placed := requests(pod), false
		for i := range bins {
			if placed = need.fitsInto(bins[i]); placed {
				bins[i] = bins[i].minus(need)
				break
			}
		}
		if bin := offers(newNode("")); !placed && need.fitsInto(bin) && len(l.nodes)+len(bins) < mostNodes {
			bins = append(bins, bin.minus(need))
			a.coming = append(a.coming, now.Add(a.pace.of(provisioning)))
		}
	}
}

// scaleDown removes the nodes that have not been needed for long enough: all that are empty, and one of the others.
func (a *autoscaler) scaleDown(ctx context.Context, l *layout, now time.Time) error {
	unneeded := map[string]time.Time{}
	var empty, little []string
	if len(a.coming) == 0 && len(l.waiting) == 0 && now.Sub(a.added) >= a.pace.of(delayAfterAdd) {
		for _, node := range l.leastUsed() {
			if !l.canDoWithout(node) {
				continue
			}
			since, known := a.unneeded[node]
			if !known {
				since = now
			}
			if unneeded[node] = since; now.Sub(since) < a.pace.of(unneededTime) {
				continue
			}
			if len(l.on[node]) == 0 {
				empty = append(empty, node)
			} else {
				little = append(little, node)
			}
		}
	}
	a.unneeded = unneeded
	spare := max(0, len(l.nodes)-leastNodes)
	if len(empty) > 0 {
		return a.remove(ctx, empty[:min(len(empty), spare)])
	}
	return a.remove(ctx, little[:min(len(little), spare, 1)])
}

// remove keeps pods off nodes, evicts their pods, and deletes the nodes. One whose pods do not go stays.
func (a *autoscaler) remove(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := a.taint(ctx, name, taintDeleted, true); err != nil {
			return err
		}
	}
	if len(names) > 0 {
		<-time.After(beforeDeletion)
	}
	for _, name := range names {
		drained, err := a.drain(ctx, name)
		if err != nil {
			return err
		}
		if !drained {
			if err := a.taint(ctx, name, taintDeleted, false); err != nil {
				return err
			}
			continue
		}
		if err := a.ground.Client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("delete node %s: %w", name, err)
		}
		delete(a.unneeded, name)
		a.removed++
	}
	return nil
}

// drain evicts the pods of a node, and reports whether all have gone.
func (a *autoscaler) drain(ctx context.Context, name string) (bool, error) {
	const tries, pause = 20, 250 * time.Millisecond
	for range tries {
		pods := newLayout(a.view.allNodes(), a.view.taken()).on[name]
		if len(pods) == 0 {
			return true, nil
		}
		for _, pod := range pods {
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
			err := a.ground.Client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, eviction)
			if err != nil && !apierrors.IsTooManyRequests(err) && !apierrors.IsNotFound(err) {
				return false, fmt.Errorf("evict %s: %w", pod.Name, err)
			}
		}
		<-time.After(pause)
	}
	return false, nil
}

// taint sets a taint of a node or takes it off. What others write of it stays.
func (a *autoscaler) taint(ctx context.Context, name, key string, on bool) error {
	nodes := a.ground.Client.CoreV1().Nodes()
	for {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get node %s: %w", name, err)
		}
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
		if on {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
		}
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("taint node %s: %w", name, err)
		}
		return nil
	}
}
