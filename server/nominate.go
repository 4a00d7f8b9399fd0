package server

import (
	"math/rand/v2"

	"k8s.io/utils/clock"

	"muster.dev/muster/placement/nomination"
)

func (s *Server) newNominator(o Options, client nomination.Client) *nomination.Nominator {
	limits := nomination.DefaultLimits(o.Config.Timeouts.Assume.Duration)
	limits.MinBacklog, limits.MaxAhead = int(o.Config.Nomination.MinBacklog), int(o.Config.Nomination.MaxAhead)
	return nomination.New(nomination.Options{
		Logger: o.Logger, Registerer: s.registry, Clock: clock.RealClock{}, Cluster: s.cluster, Profiles: s.extender.profiles,
		Skip:   s.extender.isElsewhere,
		Client: client, Writer: s.writer, Limits: limits, Seed: rand.Uint64(),
	})
}
