// Package lab is the ground that benchmarks measure on: a real control plane with nodes and a client of it, processes
// that are asked over HTTP, and what a benchmark waits for.
package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// Options of a Lab.
type Options struct {
	// ControlPlane is how it runs. Controllers that create pods are there without being named.
	ControlPlane controlplane.Options
	// Nodes are created, and ready from then on.
	Nodes []*corev1.Node
	// CRDs has the API server know muster's resources.
	CRDs bool
	// KWOK has nodes and pods be run by a stand-in for kubelets.
	KWOK bool
	// Poll is how often Await looks, 50 ms when 0.
	Poll time.Duration
}

// Lab is a control plane, and what runs beside it.
type Lab struct {
	*controlplane.ControlPlane
	Client  kubernetes.Interface
	Objects dynamic.Interface
	Nodes   []*corev1.Node

	poll time.Duration
	ends []func()
}

// Start starts a control plane without a scheduler. The caller must call Close.
func Start(ctx context.Context, o Options, out io.Writer) (_ *Lab, err error) {
	l := &Lab{Nodes: o.Nodes, poll: o.Poll}
	if l.poll == 0 {
		l.poll = 50 * time.Millisecond
	}
	o.ControlPlane.Progress = out
	if l.ControlPlane, err = controlplane.Start(ctx, o.ControlPlane); err != nil {
		return nil, err
	}
	l.OnClose(l.Stop)
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	var clientErr, objectsErr error
	l.Client, clientErr = kubernetes.NewForConfig(l.RESTConfig())
	l.Objects, objectsErr = dynamic.NewForConfig(l.RESTConfig())
	if err := errors.Join(clientErr, objectsErr); err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	if o.CRDs {
		if err := muster.CreateCRDs(ctx, l.Objects); err != nil {
			return nil, err
		}
	}
	if o.KWOK {
		if err := l.StartKWOK(ctx); err != nil {
			return nil, err
		}
	}
	cluster := workload.Cluster{Nodes: o.Nodes}
	cluster.Ready()
	return l, cluster.CreateNodes(ctx, l.Client)
}

// OnClose has Close call a function before what was given to it earlier.
func (l *Lab) OnClose(end func()) { l.ends = append(l.ends, end) }

// Close ends everything. It may be called twice.
func (l *Lab) Close() {
	for len(l.ends) > 0 {
		last := len(l.ends) - 1
		l.ends[last]()
		l.ends = l.ends[:last]
	}
}

// ErrOverdue says that something was not done in time.
var ErrOverdue = errors.New("overdue")

// Await returns when something is done, unless it fails or the control plane does. The error is ErrOverdue when that
// takes too long.
func (l *Lab) Await(ctx context.Context, what string, within time.Duration, done wait.ConditionWithContextFunc) error {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("%w: waited %s for %s", ErrOverdue, within, what))
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, l.poll, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-l.Failed():
			return false, err
		default:
			return done(ctx)
		}
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// Eventually is Await for a check that may fail until it is content.
func (l *Lab) Eventually(ctx context.Context, what string, within time.Duration, check func(context.Context) error) error {
	last := errors.New("nothing was looked at")
	err := l.Await(ctx, what, within, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return nil
}

// Fit is an error when a node has no room for its pods.
func (l *Lab) Fit(pods []*corev1.Pod) error {
	ledger := fit.NewLedger()
	for _, n := range l.Nodes {
		ledger.Node(n)
	}
	for _, p := range pods {
		if _, lacking := ledger.Pod(p); len(lacking) > 0 {
			return fmt.Errorf("node %s of pod %s has too little: %v", p.Spec.NodeName, p.Name, lacking)
		}
	}
	return nil
}

// Each does something for all items, some at a time.
func Each[T any](ctx context.Context, atATime int, items []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for _, item := range items {
		group.Go(func() error { return do(ctx, item) })
	}
	return group.Wait()
}

// Ignoring is nil for an error that does not matter.
func Ignoring(err error, is func(error) bool) error {
	if err != nil && is(err) {
		return nil
	}
	return err
}

// IsRefused says that a scheduler has found no node for a pod.
func IsRefused(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
		}
	}
	return false
}
