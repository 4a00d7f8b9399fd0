package loop

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/tools/leaderelection"
)

var errLeadershipLost = errors.New("leadership lost: the lease could not be renewed in time")

// elect runs for a lease until the context ends, and does the work while it is held. Asked to
// stop, it ends the work first and gives the lease back then, so that another one takes over at once and
// never beside it. To lose the lease is an error: the process must end, as another one may act
// already. The configuration is without Callbacks and ReleaseOnCancel.
func elect(ctx context.Context, config leaderelection.LeaderElectionConfig, work func(context.Context)) error {
	running, resign := context.WithCancel(context.WithoutCancel(ctx))
	defer resign()
	started, ended := make(chan struct{}), make(chan struct{})
	config.ReleaseOnCancel = true
	config.Callbacks = leaderelection.LeaderCallbacks{
		OnStartedLeading: func(leading context.Context) {
			defer close(ended)
			close(started)
			leading, stop := context.WithCancel(leading)
			defer context.AfterFunc(ctx, stop)()
			defer stop()
			if ctx.Err() == nil {
				work(leading)
			}
		},
		OnStoppedLeading: func() {},
	}
	elector, err := leaderelection.NewLeaderElector(config)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		select {
		case <-started:
			<-ended
		default: // it does not lead
		}
		resign()
	})()
	elector.Run(running)
	if ctx.Err() == nil {
		return errLeadershipLost
	}
	return nil
}
