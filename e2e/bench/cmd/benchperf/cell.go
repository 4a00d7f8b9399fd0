package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/effort"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/podwatch"
)

// counted labels the pods of a cell that are measured.
const counted = "example.com/counted"

// cellTimeout is generous for the slowest workload.
const cellTimeout = 5 * time.Minute

// cell is a workload, and who schedules it.
type cell struct {
	workload  string
	contender contender.Contender
}

// measurement is the outcome of a cell in one round.
type measurement struct {
	rate float64       // pods per second
	each effort.PerPod // what each pod but the first few has cost; nothing of a contender that was given up
}

// run schedules a workload with each contender, in this order, and reports what it measures.
func (g *ground) run(w scenario, pods int, contenders []contender.Contender, report func(cell, measurement)) error {
	var settled []*corev1.Pod
	if w.settled != nil {
		settled = w.settled(g.Nodes)
	}
	if w.most > 0 {
		pods = min(pods, w.most)
	}
	measured := w.measured(g.Nodes, pods)
	for _, p := range measured {
		p.Labels[counted] = ""
	}
	if w.prepare != nil {
		if err := w.prepare(g, append(measured, settled...)); err != nil {
			return fmt.Errorf("%s: prepare: %w", w.name, err)
		}
	}
	for _, c := range contenders {
		came, err := g.measure(w, settled, measured, c)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", w.name, c, err)
		}
		report(cell{w.name, c}, came)
	}
	return g.remove(settled)
}

// measure runs one cell, looks whether pods are where they may be, and leaves none behind but the settled ones. A contender that
// is overdue is given up, and has the rate of what it bound until then.
func (g *ground) measure(w scenario, settled, measured []*corev1.Pod, c contender.Contender) (m measurement, err error) {
	if err := g.create(settled); err != nil { // preemption has evicted some
		return m, err
	}
	ctx, cancel := context.WithTimeoutCause(g.ctx, cellTimeout, fmt.Errorf("gave up after %s", cellTimeout))
	defer cancel()
	watch, err := podwatch.StartFor(ctx, g.Client, counted)
	if err != nil {
		return m, err
	}
	defer watch.Stop()
	if err := g.create(measured); err != nil {
		return m, err
	}
	if err := g.awaitClaims(ctx, measured); err != nil {
		return m, err
	}
	at, err := g.schedule(ctx, w.meanwhile, c, watch, len(measured))
	gaveUp := errors.Is(err, lab.ErrOverdue)
	if err != nil && !gaveUp {
		return m, fmt.Errorf("%d of %d pods are bound: %w", watch.Tally().Bound, len(measured), err)
	}
	if err := g.judge(w); err != nil {
		return m, err
	}
	if err := g.remove(append(at.left, measured...)); err != nil {
		return m, err
	}
	switch tally := watch.Tally(); {
	case gaveUp:
		fmt.Fprintf(g.out, "%s: %s: %d of %d pods are bound: %v\n", w.name, c, tally.Bound, len(measured), err)
		m.rate = float64(tally.Bound) / settleTimeout.Seconds()
	case w.fromReady:
		m.rate = float64(len(measured)) / tally.Last.Sub(at.ready).Seconds()
	default:
		m.rate = tally.Rate()
	}
	m.each = at.each
	return m, devices.ClearClaims(g.ctx, g.Client)
}

// scheduled tells of a contender that was at work.
type scheduled struct {
	ready time.Time     // its scheduler
	left  []*corev1.Pod // of the churn
	each  effort.PerPod
}

// schedule has a contender schedule until a number of pods are bound.
func (g *ground) schedule(
	ctx context.Context, meanwhile churn, c contender.Contender, watch *podwatch.Watch, pods int,
) (at scheduled, err error) {
	entry, err := g.programs.Launch(ctx, g.ControlPlane, c, 0)
	if err != nil {
		return at, err
	}
	defer entry.Stop()
	if err := entry.AwaitExtender(ctx); err != nil {
		return at, err
	}
	if meanwhile != nil {
		churning, calm := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() {
			var err error
			at.left, err = meanwhile(churning, g)
			ended <- err
		}()
		defer func() {
			calm()
			if churned := <-ended; err == nil {
				err = churned
			}
		}()
	}
	if err := entry.StartScheduler(ctx); err != nil {
		return at, err
	}
	at.ready = time.Now()
	at.each, err = effort.Follow(ctx, g.Lab, entry, watch, pods, settleTimeout)
	return at, err
}

// awaitClaims returns when each pod that has claims for devices knows their names.
func (g *ground) awaitClaims(ctx context.Context, pods []*corev1.Pod) error {
	if len(pods[0].Spec.ResourceClaims) == 0 {
		return nil
	}
	return g.await(ctx, "claims for devices", func(ctx context.Context) (bool, error) {
		claims, err := g.Client.ResourceV1().ResourceClaims(pods[0].Namespace).List(ctx, metav1.ListOptions{})
		return err == nil && len(claims.Items) >= len(pods), err
	})
}

// judge is an error when a node has too little for its pods, or pods share one that must not.
func (g *ground) judge(w scenario) error {
	all, err := g.Client.CoreV1().Pods(metav1.NamespaceAll).List(g.ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	pods := make([]*corev1.Pod, len(all.Items))
	for i := range pods {
		pods[i] = &all.Items[i]
	}
	if err := g.Fit(pods); err != nil || !w.apart {
		return err
	}
	alone := map[string]string{} // a pod by node and colour
	for _, p := range pods {
		if p.Spec.NodeName == "" {
			continue
		}
		place := p.Spec.NodeName + "/" + p.Labels[colour]
		if other, taken := alone[place]; taken {
			return fmt.Errorf("pods %s and %s keep apart, and are on node %s", p.Name, other, p.Spec.NodeName)
		}
		alone[place] = p.Name
	}
	return nil
}
