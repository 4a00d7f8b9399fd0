package main

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// ofRivals is how many gangs of a standoff can start.
	ofRivals = 3
	// turn is how long a gang is whole before it is deleted.
	turn = time.Second

	// How often it is looked at what gangs take. That costs muster a little, so it is seldom
	// done where costs are counted.
	often  = 50 * time.Millisecond
	seldom = time.Second
)

// standOff starts every gang that fits, and the others wait.
func standOff(ctx context.Context, r *cellRun) (came measurement, err error) {
	survey := r.survey(ctx, often)
	if came.took, err = r.start(ctx, ofRivals); err != nil {
		return came, err
	}
	starting, err := survey()
	if err != nil {
		return came, err
	}
	before, err := r.costs(ctx)
	if err != nil {
		return came, err
	}
	survey = r.survey(ctx, seldom)
	if err := r.sleep(ctx, r.wait); err != nil {
		return came, err
	}
	after, err := r.costs(ctx)
	if err != nil {
		return came, err
	}
	waiting, err := survey()
	came.waiting, came.room = after.minus(before), starting.plus(waiting)
	return came, err
}

// takeTurns starts gangs that have room for one at a time.
func takeTurns(ctx context.Context, r *cellRun) (came measurement, err error) {
	survey := r.survey(ctx, often)
	began, err := r.createPods(ctx)
	if err != nil {
		return came, err
	}
	ending, ctx := errgroup.WithContext(ctx)
	ends := map[string]bool{}
	err = r.await(ctx, func() bool {
		whole := r.witness.started()
		for gang, at := range whole {
			if !ends[gang] && time.Since(at) >= turn {
				ends[gang] = true
				ending.Go(func() error { return r.deleteGangs(ctx, gang) })
			}
		}
		return len(whole) == r.gangs.count
	})
	if err != nil {
		return came, err
	}
	came.took = latest(r.witness.started()).Sub(began)
	if came.room, err = survey(); err != nil {
		return came, err
	}
	return came, ending.Wait()
}
