package server

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"

	"github.com/go-faster/jx"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/finished"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/requeue"
	"muster.dev/muster/predicates"
)

// planAhead sets up what places pods before kube-scheduler asks about them. Without an API
// server there is nothing to tell the scheduler by, and no bind call to hold.
func (s *Server) planAhead(o Options) error {
	if s.client == nil {
		return nil
	}
	// A client of its own, so that bindings never wait for nominations.
	quick := s.readiness.fence.Guard(o.RESTConfig)
	quick.QPS = -1 // the Writer counts for itself, and of commits there is one for each gang
	client, err := kubernetes.NewForConfig(cluster.ClientConfig(quick))
	if err != nil {
		return fmt.Errorf("clientConnection: %w", err)
	}
	podGroups, err := dynamic.NewForConfig(quick)
	if err != nil {
		return fmt.Errorf("clientConnection: %w", err)
	}
	nominations := nomination.NewClient(client.CoreV1().RESTClient(), clock.RealClock{})
	s.writer = nomination.NewWriter(o.Logger, s.registry, clock.RealClock{}, nomination.DefaultWriteLimits(o.Config.Nomination.QPS))
	s.extender.nominator = s.newNominator(o, nominations)

	limits := gang.DefaultLimits(o.Config.Timeouts.Bind.Duration, o.Config.Timeouts.Filter.Duration, o.Config.Timeouts.Assume.Duration)
	limits.Timeout, limits.MaxTimeout = o.Config.Gangs.ScheduleTimeout.Duration, o.Config.Gangs.MaxScheduleTimeout.Duration
	limits.MaxMembers, limits.MaxHolding = int(o.Config.Gangs.MaxMembers), int(o.Config.Gangs.MaxHoldingPerNamespace)
	limits.DenyTTL = o.Config.Gangs.DeniedTTL.Duration
	s.extender.gangs = gang.New(gang.Options{
		Logger:     o.Logger,
		Registerer: s.registry,
		Clock:      clock.RealClock{},
		Cluster:    s.cluster,
		Profiles:   s.extender.profiles,
		Client:     nominations,
		Writer:     s.writer,
		Recorder:   record.NewWriter(podGroups, clock.RealClock{}),
		Epoch:      func() record.Epoch { return s.epoch },
		Limits:     limits,
		Holes:      s.holes,
		Gates:      o.Config.Gangs.Gates,
		Seed:       rand.Uint64(),
	})
	s.requeuer = requeue.New(requeue.Options{
		Registerer: s.registry, Clock: clock.RealClock{}, Cluster: s.cluster, Profiles: s.extender.profiles,
		Alone: s.extender.isAlone, Client: nominations, Writer: s.writer, Seed: rand.Uint64(),
	})
	if s.finished, err = finished.Follow(s.metadata, clock.RealClock{}, s.extender.gangs.Finished); err != nil {
		return err
	}
	s.readiness.synced = func() bool { return s.watcher.Synced() && s.finished.Synced() }
	return nil
}

// isAlone says that a pod is placed for itself, and by muster: it is of no gang that has yet to start,
// and of no group that kube-scheduler plans as one.
func (e *Extender) isAlone(pod *cluster.Pod) bool {
	return pod.Spec.SchedulingGroup == nil && e.gangs.PlacesAlone(pod.UID)
}

// runAhead places pods before kube-scheduler asks about them, once this process leads and
// its view is complete, until the context ends.
func (s *Server) runAhead(ctx context.Context, run func(context.Context)) error {
	select {
	case <-ctx.Done():
		return nil
	case <-s.led:
	}
	if complete := s.watcher.WaitForSync(ctx) == nil && s.finished.WaitForSync(ctx) == nil; complete {
		run(ctx)
	}
	return nil
}

// publishGangs tells people about gangs until the context ends. Without the rights to it,
// gangs are started all the same.
func (s *Server) publishGangs(ctx context.Context) {
	err := s.extender.gangs.Publish(ctx, gang.Clients{Core: s.leader.core, Dynamic: s.leader.dynamic})
	if err != nil {
		s.log.Warn("the status of PodGroups is not written", "err", err)
	}
}

// filterMember answers about a member of a gang whose members have places: with its own, if
// that is among the candidates and still fits, else with the best candidate. Of room that plans of
// the rescheduler keep, the members have taken theirs with their places.
func (e *Extender) filterMember(c *call, profile *predicates.VerdictStore, pod *cluster.Pod, place string) error {
	if e.holes != nil {
		e.avoid(c, e.holes.Left([]*cluster.Pod{pod}))
	}
	node, err := e.settle(c, profile, pod, place)
	switch {
	case err != nil:
	case node == "":
		e.gangs.Refused(pod)
	default:
		e.gangs.Placed(pod.UID, node)
	}
	return err
}

// refuse answers with no node, for one reason.
func (e *Extender) refuse(c *call, reason string) {
	reply := newFilterReply(c)
	var unknown jx.Writer
	for _, index := range c.candidates.in(e.cluster.Snapshot()) {
		reply.Reject(c.candidates.quoted(index, &unknown), reason)
	}
	reply.End()
	c.outcome = outcomeUnschedulable
}

// spareGangs takes out of the answer about a preemption what would harm gangs: nodes whose
// victims are of a gang that is about to start; and, if there is another way, those whose
// victims are needed by one that runs.
func (e *Extender) spareGangs(victims map[string]*extenderv1.MetaVictims) {
	uids := map[string][]types.UID{}
	for node, of := range victims {
		uids[node] = nil
		for _, victim := range of.Pods {
			uids[node] = append(uids[node], types.UID(victim.UID))
		}
	}
	harm := e.gangs.Harms(uids)
	maps.DeleteFunc(victims, func(node string, _ *extenderv1.MetaVictims) bool { return harm[node] == gang.BreaksStart })
	for _, of := range harm {
		if of == gang.NoHarm {
			maps.DeleteFunc(victims, func(node string, _ *extenderv1.MetaVictims) bool { return harm[node] == gang.BreaksGang })
			return
		}
	}
}

// victimsOf is the answer about a preemption for a member of a gang that has not started.
func victimsOf(p gang.Preemption) map[string]*extenderv1.MetaVictims {
	if len(p.Victims) == 0 { // the scheduler takes that for an error
		return map[string]*extenderv1.MetaVictims{}
	}
	victims := &extenderv1.MetaVictims{NumPDBViolations: int64(p.Violations)}
	for _, pod := range p.Victims {
		victims.Pods = append(victims.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
	}
	return map[string]*extenderv1.MetaVictims{p.Node: victims}
}
