package server

import (
	"context"
	"fmt"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/gang/record"
	"muster.dev/muster/server/leadership"
)

// elect has replicas of a server at an API server elect the one that may act, if that is configured.
func (s *Server) elect(config *rest.Config) error {
	if !s.config.LeaderElection.LeaderElect {
		return nil
	}
	leases, err := leadership.NewLeaseClient(config, s.config.LeaderElection)
	if err != nil {
		return fmt.Errorf("clientConnection: %w", err)
	}
	return s.runFor(leases)
}

// runFor has this process act only while it has the lease.
func (s *Server) runFor(leases coordinationv1client.LeasesGetter) error {
	candidate, err := leadership.New(leadership.Options{
		Registerer: s.registry,
		Clock:      clock.RealClock{},
		Leases:     leases,
		Config:     s.config.LeaderElection,
		Name:       s.config.LeaderElection.ResourceName,
	})
	if err != nil {
		return err
	}
	s.candidate, s.readiness.fence = candidate, candidate.Fence()
	return nil
}

// lead leads once this process may, until the context ends, which must be when nothing runs any more
// that only the leader may do. An error says that the lease was lost.
func (s *Server) lead(ctx context.Context) error {
	if s.candidate == nil {
		s.elected(record.Epoch{})
		return nil
	}
	return s.candidate.Run(ctx, func(leading context.Context, term leadership.Term) (clean bool, err error) {
		if err := s.catchUp(leading); err != nil {
			return true, err
		}
		s.elected(record.Epoch{Lease: term.Lease, Transitions: term.Transitions})
		<-leading.Done()
		return s.drained.Load(), nil
	})
}

// catchUpTimeout is how long the watch may lag behind what the leader before has bound. One that lags for
// longer is broken, and is begun anew by a new process.
const catchUpTimeout = 30 * time.Second

// catchUp waits until the view has what the leader before has bound: a watch may be late, above all in a
// process that was frozen until a moment ago.
func (s *Server) catchUp(leading context.Context) error {
	if s.watcher == nil || s.watcher.WaitForSync(leading) != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(leading, catchUpTimeout)
	defer cancel()
	if err := s.watcher.CatchUp(ctx); err != nil && leading.Err() == nil {
		return err
	}
	return nil
}

func (s *Server) elected(epoch record.Epoch) {
	s.epoch = epoch // read only when leading
	if s.writer != nil {
		s.extender.gangs.Follow()
		s.extender.nominator.Follow()
	}
	s.readiness.leading.Store(true)
	close(s.led)
	s.log.Info("leading")
}
