package main

import (
	"context"
	"time"
)

// startAll creates gangs that have room and waits for all of them.
func startAll(ctx context.Context, r *cellRun) (came measurement, err error) {
	before, err := r.effort()
	if err != nil {
		return came, err
	}
	written, err := r.writes(ctx)
	if err != nil {
		return came, err
	}
	if came.took, err = r.start(ctx, r.gangs.count); err != nil {
		return came, err
	}
	after, err := r.effort()
	if err != nil {
		return came, err
	}
	now, err := r.writes(ctx)
	came.effort, came.writes = after-before, (now-written)/float64(r.gangs.count*r.gangs.size)
	return came, err
}

// start creates the gangs and waits until a number of them are whole. It says how long that took.
func (r *cellRun) start(ctx context.Context, count int) (took time.Duration, err error) {
	began, err := r.createPods(ctx)
	if err != nil {
		return 0, err
	}
	if err := r.await(ctx, func() bool { return len(r.witness.started()) >= count }); err != nil {
		return 0, err
	}
	return latest(r.witness.started()).Sub(began), nil
}

func latest(times map[string]time.Time) (last time.Time) {
	for _, at := range times {
		if at.After(last) {
			last = at
		}
	}
	return last
}
