package campaign

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// inFlight is how many requests are made at a time.
const inFlight = 16

// driver does to a cluster what a script says.
type driver struct {
	client  kubernetes.Interface
	isBound func(pod string) bool
	outage  func(ctx context.Context, down time.Duration) error // of musterKilled
}

// play plays a script to its end. What happens at one time happens in any order; outages go on beside it.
func (d *driver) play(ctx context.Context, s *script) error {
	began := time.Now()
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return d.change(ctx, began, s) })
	both.Go(func() error {
		for _, e := range s.events {
			if e.kind != musterKilled {
				continue
			}
			faultcampaign.Pause(ctx, time.Until(began.Add(e.at)))
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := d.outage(ctx, e.down); err != nil {
				return err
			}
		}
		return nil
	})
	return both.Wait()
}

// change changes the cluster.
func (d *driver) change(ctx context.Context, began time.Time, s *script) error {
	for rest := s.events; len(rest) > 0; {
		now := 1
		for now < len(rest) && rest[now].at == rest[0].at {
			now++
		}
		faultcampaign.Pause(ctx, time.Until(began.Add(rest[0].at)))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(inFlight)
		for _, e := range rest[:now] {
			group.Go(func() error { return d.do(ctx, e) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		rest = rest[now:]
	}
	return nil
}

func (d *driver) do(ctx context.Context, e event) (err error) {
	nodes, pods := d.client.CoreV1().Nodes(), d.client.CoreV1().Pods(workload.Namespace)
	switch e.kind {
	case podCreated:
		_, err = pods.Create(ctx, e.pod, metav1.CreateOptions{})
	case podDeleted:
		err = pods.Delete(ctx, e.name, metav1.DeleteOptions{})
	case podFinished:
		if d.isBound(e.name) {
			_, err = pods.Patch(ctx, e.name, types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
		}
	case nodeAdded:
		_, err = nodes.Create(ctx, e.node, metav1.CreateOptions{})
	case nodeLost:
		err = nodes.Delete(ctx, e.name, metav1.DeleteOptions{})
	case musterKilled: // goes on beside
	}
	if apierrors.IsNotFound(err) { // preempted, or lost with its node
		err = nil
	}
	if err != nil {
		return fmt.Errorf("at %s of the script: %w", e.at, err)
	}
	return nil
}
