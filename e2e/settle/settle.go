// Package settle waits until a scheduler has done what it can.
//
// Pods that fit nowhere stay pending for ever, so "all bound" cannot be the only end. A
// cluster has settled when every pod is bound, or when nothing has been bound for a
// while and no pending pod would fit. Pods that fit and are still not bound after a
// longer while are the verdict on the scheduler.
package settle

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/podwatch"
)

// Patience of Await.
type Patience struct {
	// Quiet is how long nothing may be bound before it is asked what would fit.
	Quiet time.Duration
	// Stuck is how long nothing may be bound although something would fit.
	Stuck time.Duration
	// Total bounds everything.
	Total time.Duration
}

// DefaultPatience outlasts the scheduler's own backoff of 10 seconds.
func DefaultPatience() Patience {
	return Patience{Quiet: 5 * time.Second, Stuck: time.Minute, Total: 10 * time.Minute}
}

// Outcome of a settled cluster.
type Outcome struct {
	podwatch.Tally
	Nodes []*corev1.Node
	Pods  []*corev1.Pod
	// Stranded are pods that fit on a node and were not bound.
	Stranded []fit.Place
}

// Await returns when the cluster has settled or patience has ended; expected is how many
// pods there will be. Each tick is told to progress, which may be nil. It fails when
// fewer pods were created, when the context ends or the API server does not answer.
func Await(
	ctx context.Context, client kubernetes.Interface, watch *podwatch.Watch, expected int, patience Patience, progress func(podwatch.Tally),
) (*Outcome, error) {
	if progress == nil {
		progress = func(podwatch.Tally) {}
	}
	began := time.Now()
	var before podwatch.Tally
	movedAt := began
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		tally, now := watch.Tally(), time.Now()
		progress(tally)
		if tally != before {
			before, movedAt = tally, now
		}
		quiet := now.Sub(movedAt)
		done := tally.Bound >= expected || quiet > patience.Stuck || now.Sub(began) > patience.Total
		if done || quiet > patience.Quiet {
			outcome, err := judge(ctx, client, watch)
			if err != nil {
				return nil, err
			}
			if done || tally.Created >= expected && len(outcome.Stranded) == 0 {
				return outcome, outcome.complete(expected)
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for pods to be bound: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// complete is an error when pods that were never created cannot be judged.
func (o *Outcome) complete(expected int) error {
	if o.Created < expected {
		return fmt.Errorf("only %d of %d pods were created", o.Created, expected)
	}
	return nil
}

func judge(ctx context.Context, client kubernetes.Interface, watch *podwatch.Watch) (*Outcome, error) {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	outcome := &Outcome{Tally: watch.Tally()}
	for i := range list.Items {
		outcome.Nodes = append(outcome.Nodes, &list.Items[i])
	}
	if outcome.Pods, err = watch.Pods(); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	outcome.Stranded = fit.Places(outcome.Nodes, outcome.Pods)
	return outcome, nil
}
