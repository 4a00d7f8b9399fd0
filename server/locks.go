package server

import (
	"time"

	"k8s.io/utils/clock"

	"muster.dev/muster/server/canary"
)

// leastPatience is how long a lock may be taken at least before it counts as stuck: the longest that one
// is taken in good order is the plan of a very large gang.
const leastPatience = 15 * time.Second

// newCanary watches over the locks of the verbs. One that is not free for several times as long as
// kube-scheduler waits for an answer will not come free.
func (s *Server) newCanary(now clock.WithTicker) *canary.Canary {
	return canary.New(canary.Options{
		Logger: s.log, Registerer: s.registry, Clock: now, Locks: s.locks, Patience: max(3*s.config.Timeouts.Filter.Duration, leastPatience),
	})
}

// locks lists the locks that verbs take.
func (s *Server) locks() []canary.Lock {
	const all = "filter, prioritize, preempt and bind"
	e := s.extender
	locks := []canary.Lock{
		{Name: "the cluster", Verbs: all, Pass: func() { e.cluster.PendingPod("") }},
		{Name: "attempts", Verbs: all, Pass: func() { s.verbs.attempts.open.Get("") }},
		{Name: "bind calls", Verbs: "bind", Pass: e.flights.pass},
	}
	for _, store := range e.profiles.Stores() {
		locks = append(locks, canary.Lock{Name: "verdicts of " + store.Profile.Name, Verbs: "filter, prioritize and preempt", Pass: store.Pass})
	}
	if e.gangs != nil {
		locks = append(locks, canary.Lock{Name: "gangs", Verbs: "filter, preempt and bind", Pass: e.gangs.Pass})
	}
	if e.nominator != nil {
		locks = append(locks, canary.Lock{Name: "nominations", Verbs: "filter and preempt", Pass: e.nominator.Pass})
	}
	if e.holes != nil {
		locks = append(locks, canary.Lock{Name: "ReschedulingPlans", Verbs: "filter, preempt and bind", Pass: e.holes.Pass})
	}
	return locks
}
