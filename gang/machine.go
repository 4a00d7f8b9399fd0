package gang

import (
	"log/slog"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
)

// machine is the shell of the core: it feeds one event at a time to the core, under its lock, and carries the effects out.
// Parts of a Manager that do more than one thing at a time take the lock themselves.
type machine struct {
	log     *slog.Logger
	clock   clock.WithTicker
	view    *view
	ports   *ports
	metrics *metrics
	inbox   *inbox
	writes  *writes
	records *records

	mu    lock.Mutex
	state *core.State
	holds holds
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

// doLatest applies an event after all that the watch has shown.
func (m *machine) doLatest(event core.Event) outcome {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	return m.apply(event)
}

// toEvict reports whether a pod is still to be evicted for a group, and the scheduler name of that group.
func (m *machine) toEvict(key membership.Key, pod *cluster.Pod) (schedulerName string, wanted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.ToEvict(key, pod)
}

// receive follows what the watch has shown. The caller holds the lock, here and below.
func (m *machine) receive() {
	for _, state := range m.inbox.take() {
		m.apply(core.Seen{PodState: state})
	}
}

// look brings the knowledge of every group up to date.
func (m *machine) look() {
	m.receive()
	m.apply(core.Looked{})
}

// apply feeds an event to the core and carries out what follows: also when a search panics, as to the core that is done.
func (m *machine) apply(event core.Event) (o outcome) {
	m.ports.budget.renew()
	defer func() {
		for _, effect := range m.state.Effects() {
			m.carryOut(effect, &o)
		}
	}()
	m.state.Apply(m.view, m.ports, event)
	return o
}

// carryOut carries one effect out.
func (m *machine) carryOut(effect core.Effect, o *outcome) {
	switch e := effect.(type) {
	case core.BeginHold:
		o.hold = m.holds.begin(e.Hold)
	case core.EndHold:
		m.holds.end(e)
	case core.RefuseBind:
		o.err = e.Err
	case core.Nominate, core.Wake, core.LiftGate, core.Evict:
		m.writes.post(effect, m)
	case core.WriteRecords:
		m.records.write(e, m)
	case core.NoteBound:
		m.records.write(core.WriteRecords{Records: []core.ToRecord{e.ToRecord}, Until: e.Until}, m)
	default:
		m.tell(effect, o)
	}
}

// tell takes answers to the caller, and counts what people see.
func (m *machine) tell(effect core.Effect, o *outcome) {
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

// inbox holds what the watch has shown of members since it was last read.
type inbox struct {
	filled chan struct{} // has one element when there may be something to do

	mu      lock.Mutex
	members sets.Set[types.UID]
	states  []cluster.PodState
}

func (i *inbox) put(state cluster.PodState) {
	i.mu.Lock()
	defer i.mu.Unlock()
	of := false
	if state.Pod != nil {
		_, of = membership.Of(state.Pod)
	}
	switch {
	case of || state.Pod != nil && membership.Gated(state.Pod.Pod):
		i.members.Insert(state.UID)
	case i.members.Has(state.UID):
		if state.Pod == nil || state.Pod.Spec.NodeName != "" {
			i.members.Delete(state.UID) // else the scheduler may have to be told that it is of no gang any more
		}
	default:
		return
	}
	i.states = append(i.states, state)
	i.ring()
}

// ring says that there may be something to do.
func (i *inbox) ring() {
	select {
	case i.filled <- struct{}{}:
	default:
	}
}

func (i *inbox) take() []cluster.PodState {
	i.mu.Lock()
	defer i.mu.Unlock()
	states := i.states
	i.states = nil
	return states
}
