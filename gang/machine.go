package gang

import (
	"log/slog"
	"time"

	"k8s.io/utils/clock"

	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
)

// machine is the shell of the core: it holds the lock, knows the time, feeds events to the core and
// carries their effects out.
type machine struct {
	log     *slog.Logger
	clock   clock.WithTicker
	view    *view
	metrics *metrics
	inbox   inbox
	writes  writes
	records records

	mu     lock.Mutex
	state  *core.State
	search *search
	holds  map[core.HoldID]*hold // that have not ended
	news   news
	lost   struct{ again time.Time } // when gangs that run with too few members may be planned again for the sake of others

	// These are overwritten by each call, so that applying them allocates nothing.
	asked   core.Asked
	placed  core.Placed
	binds   core.Binds
	bound   core.Bound
	planned core.PlannedAhead
	due     core.GatesDue
}

// outcome is the outcome of an event for its caller.
type outcome struct {
	decision  core.Decision
	preempted core.Preempted
	hold      *hold // the call waits
	err       error // the call must not go on
	write     *core.Write
	changed   []membership.Key
	denied    bool // a gang
}

// do applies an event.
func (m *machine) do(event core.Event) outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.apply(event)
}

// receive follows what the watch has shown. The caller holds the lock, here and below.
func (m *machine) receive() {
	for _, state := range m.inbox.take() {
		m.apply(core.Seen{PodState: state})
	}
}

// apply feeds an event to the core and carries out what follows.
func (m *machine) apply(event core.Event) outcome {
	var o outcome
	m.search.budget.renew()
	m.follow(event, &o)
	return o
}

func (m *machine) follow(event core.Event, o *outcome) {
	var answers []core.Event
	for _, effect := range m.state.Apply(m.clock.Now(), m.view, event) {
		if answer := m.carryOut(effect, o); answer != nil {
			answers = append(answers, answer)
		}
	}
	for _, answer := range answers {
		m.follow(answer, o)
	}
}

// carryOut carries one effect out. It returns the event that comes back at once.
func (m *machine) carryOut(effect core.Effect, o *outcome) core.Event {
	switch e := effect.(type) {
	case core.Release:
		m.view.cluster.Release(e.UID)
	case core.Renew:
		if !m.view.cluster.Renew(e.UID) {
			return core.Uncounted(e)
		}
	case core.BeginHold, core.EndHold, core.RefuseBind:
		m.carryOutHold(effect, o)
	case core.Nominate, core.Wake, core.LiftGate, core.Evict:
		m.writes.writer.Post(m.toWrite(effect))
	case core.WriteRecords:
		m.records.write(m.records.stamped(e))
	case core.NoteBound:
		m.records.write(m.records.stamped(core.WriteRecords{Records: []core.ToRecord{e.ToRecord}, Until: e.Until}))
	case core.FindPlaces:
		return m.search.places(e)
	case core.FindVictims:
		return m.search.victims(e)
	case core.FindWithout:
		return m.search.without(e)
	case core.FindLost:
		return m.search.lost(e)
	case core.Proceed:
		return core.Proceeding(e)
	default:
		m.tellOf(effect, o)
	}
	return nil
}

// tellOf takes answers to the caller, and counts what people see.
func (m *machine) tellOf(effect core.Effect, o *outcome) {
	switch e := effect.(type) {
	case *core.Decided:
		o.decision = e.Decision
	case core.Preempted:
		o.preempted = e
	case core.Write:
		o.write = &e
	case core.Changed:
		o.changed = e.Groups
	case core.Denied:
		o.denied = true
		m.metrics.denials[e.Err].Inc()
	case core.Quorum:
		m.metrics.quorum.Observe(e.Took.Seconds())
	case core.Clearing:
		m.metrics.preemptions.Inc()
		m.metrics.victims.Add(float64(e.Pods))
		m.log.Info("pods have to go for a gang", "gang", e.Group.String(), "pods", e.Pods)
	case core.TakenAlong:
		m.metrics.victims.Add(float64(e.Pods))
		m.log.Info("pods have to go with others of their gang", "gang", e.Group.String(), "pods", e.Pods)
	}
}
