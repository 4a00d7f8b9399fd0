package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/bench/figures"
)

const (
	// pace is the time from one neighbour to the next, whatever becomes of them: else one
	// that takes long would keep others from being late as well.
	pace = 40 * time.Millisecond
	// How many neighbours come first and do not count, before and again after the standoff,
	// and during it: as long as the scheduler may put a waiting pod aside, twice.
	warming, alone, beside = 50, 250, 500
	// settling is how long gangs have waited when the first neighbour comes.
	settling = 5 * time.Second
)

// besideWaiting measures how long pods without a gang take with gangs that wait and without.
// Those without come half before and half after the others, so that what warms up or wears
// out favours neither.
func besideWaiting(ctx context.Context, r *cellRun) (came measurement, err error) {
	if _, err := r.neighbours(ctx, "warming-", warming); err != nil {
		return came, err
	}
	before, err := r.neighbours(ctx, "before-", alone)
	if err != nil {
		return came, err
	}
	if came.took, err = r.start(ctx, ofRivals); err != nil {
		return came, err
	}
	if err := r.sleep(ctx, settling); err != nil {
		return came, err
	}
	with, err := r.neighbours(ctx, "beside-", beside)
	if err != nil {
		return came, err
	}
	if err := r.deleteGangs(ctx, r.waiting()...); err != nil {
		return came, err
	}
	after, err := r.neighbours(ctx, "after-", alone)
	if err != nil {
		return came, err
	}
	came.beside, came.alone = figures.Quantile(with, 99), figures.Quantile(append(before, after...), 99)
	return came, nil
}

// waiting are the gangs that were never whole.
func (r *cellRun) waiting() []string {
	started := r.witness.started()
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.gangs.parts())), func(gang string) bool { return !started[gang].IsZero() })
}

// neighbours creates pods without a gang and says how long it took until each was bound.
func (r *cellRun) neighbours(ctx context.Context, prefix string, count int) ([]time.Duration, error) {
	count = max(1, count/r.scale)
	took := make([]time.Duration, count)
	creating, ctx := errgroup.WithContext(ctx)
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i, p := range neighbours(prefix, count) {
		creating.Go(func() error {
			bound := r.witness.hear(p.Name)
			began := time.Now()
			if _, err := r.Client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create pod %s: %w", p.Name, err)
			}
			select {
			case at := <-bound:
				took[i] = at.Sub(began)
				return nil
			case <-ctx.Done():
				return fmt.Errorf("wait for pod %s to be bound: %w", p.Name, context.Cause(ctx))
			}
		})
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	return took, creating.Wait()
}
