package main

import (
	"context"
	"time"

	"muster.dev/muster/e2e/muster"
)

// room is the part of the cluster that gangs took over a time, in pods times seconds: all pods of a
// case ask for the same.
type room struct {
	idle  float64 // counted for a member that is not being bound yet
	taken float64 // idle, being bound or bound
}

func (r room) plus(o room) room { return room{r.idle + o.idle, r.taken + o.taken} }

// share of the room that was idle, 0 when there was none.
func (r room) share() float64 {
	if r.taken == 0 {
		return 0
	}
	return r.idle / r.taken
}

// roomOf returns the room that gangs take over a period.
func roomOf(gangs map[string]muster.Gang, length time.Duration) (r room) {
	for _, g := range gangs {
		r.idle += float64(g.Placed+g.Held) * length.Seconds()
		r.taken += float64(g.Placed+g.Held+g.Binding+g.Bound) * length.Seconds()
	}
	return r
}

// survey begins to ask muster what gangs take, and returns a function that ends that and
// says what it was. Without muster it is nothing.
func (r *cellRun) survey(ctx context.Context, every time.Duration) (end func() (room, error)) {
	server := r.entry.Muster()
	if server == nil {
		return func() (room, error) { return room{}, nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	var sum room
	var failed error
	done := make(chan struct{})
	go func() {
		defer close(done)
		last := time.Now()
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			gangs, err := server.Gangs(ctx)
			if err != nil {
				if ctx.Err() == nil {
					failed = err
				}
				return
			}
			now := time.Now()
			sum = sum.plus(roomOf(gangs, now.Sub(last)))
			last = now
		}
	}()
	return func() (room, error) {
		cancel()
		<-done
		return sum, failed
	}
}
