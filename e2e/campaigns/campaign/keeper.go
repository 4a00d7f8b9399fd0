package campaign

import (
	"context"
	"time"

	"muster.dev/muster/e2e/muster"
)

// keeper kills muster and starts it again, and counts its nominations over all of its
// lives. It is for use by one goroutine, but for asking its server.
type keeper struct {
	server      *muster.Server
	nominations map[string]int // by outcome
	restarts    int
}

func newKeeper(server *muster.Server) *keeper {
	return &keeper{server: server, nominations: map[string]int{}}
}

// keep does so for each of the events, until there are no more or the context ends.
func (k *keeper) keep(ctx context.Context, outages <-chan event) error {
	for e := range outages {
		if err := k.count(ctx); err != nil {
			return err
		}
		if err := k.server.Crash(); err != nil {
			return err
		}
		down := time.NewTimer(e.down)
		select {
		case <-ctx.Done():
			down.Stop()
			return context.Cause(ctx)
		case <-down.C:
		}
		if err := k.server.Restart(ctx); err != nil {
			return err
		}
		k.restarts++
	}
	return nil
}

// count adds up the nominations of a life of muster that is about to end.
func (k *keeper) count(ctx context.Context) error {
	if err := k.server.Err(); err != nil {
		return err
	}
	nominations, err := k.server.Nominations(ctx)
	for outcome, n := range nominations {
		k.nominations[outcome] += n
	}
	return err
}
