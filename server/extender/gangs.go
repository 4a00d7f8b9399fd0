package extender

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
)

// Gangs holds the members of gangs together, as a [gang.Manager] does.
type Gangs interface {
	Permits
	// Filter decides about a pod that the scheduler asks about for a number of nodes.
	Filter(pod *cluster.Pod, nodes int) gang.Decision
	// Placed says that filter was answered with a node on which the pod counts now.
	Placed(uid types.UID, node string)
	// Refused says that the scheduler was told of no node for a pod.
	Refused(pod *cluster.Pod)
	// Preempt decides about a pod that the scheduler would evict others for.
	Preempt(pod *cluster.Pod) (answer gang.Preemption, starting bool)
	// Harms says what the evictions on each of some nodes would do to gangs.
	Harms(victims map[string][]types.UID) map[string]gang.Harm
	// GiveWay makes room for a pod if plans of lower priority are in the way.
	GiveWay(pod *cluster.Pod, store *predicates.VerdictStore) bool
	// Planned reports whether a pod counts on its node only since it was planned there.
	Planned(uid types.UID) bool
	// Pass returns once the lock was free.
	Pass()
}

// Permits decide when a pod may be bound.
type Permits interface {
	// Permit waits until a pod may be bound to a node. After a nil error Bound must follow.
	Permit(ctx context.Context, uid types.UID, node string) error
	// Bound reports the result of a binding.
	Bound(uid types.UID, err error)
}

// gangs answers the verbs' questions about gangs.
type gangs interface {
	claimant
	preempter
	planner
	Permits
	// includes reports whether a pod that the watch does not show may be of a gang.
	includes(pod *cluster.Pod) bool
	// spare takes out of the answer about a preemption what would harm gangs, and reports whether what is left harms none.
	spare(victims victims) (harmless bool)
}

// members claims the members of gangs.
type members struct {
	picker   *picker
	manager  Gangs
	reserved *reserved
}

// newGangs asks the gangs of the options, if there are any.
func newGangs(o *Options, p *picker, reserved *reserved) gangs {
	if o.Gangs == nil {
		return noGangs{}
	}
	return &members{picker: p, manager: o.Gangs, reserved: reserved}
}

func (m *members) includes(pod *cluster.Pod) bool {
	_, member := membership.Of(pod)
	return member || m.picker.cluster.Owners.MayBelong(pod.Pod)
}

func (m *members) claim(c *call) (answered bool, err error) {
	pod := c.subject.pod
	decision := m.manager.Filter(pod, len(c.candidates.indexes))
	switch {
	case decision.Reason != "":
		if !decision.Waits {
			m.picker.cluster.Release(pod.UID)
		}
		m.picker.refuse(c, decision.Reason)
		return true, nil
	case decision.Member:
		return true, m.place(c, decision.Node)
	default:
		return false, nil
	}
}

// place answers about a member of a gang whose members have places: with its own, if
// that is among the candidates and still fits, else with the best candidate. Of room that plans of
// the rescheduler keep, the members have taken theirs with their places.
func (m *members) place(c *call, place string) error {
	m.reserved.avoid(c)
	node, err := m.picker.answerPlanned(c, place)
	switch {
	case err != nil:
	case node == "":
		m.manager.Refused(c.subject.pod)
	default:
		m.manager.Placed(c.subject.pod.UID, node)
	}
	return err
}

// preempt answers for a member of a gang that has not started.
func (m *members) preempt(c *call) (evicted victims, decided bool) {
	preemption, starting := m.manager.Preempt(c.subject.pod)
	if !starting || len(preemption.Victims) == 0 { // of a node without victims the scheduler makes an error
		return victims{}, starting
	}
	told := &extenderv1.MetaVictims{NumPDBViolations: int64(preemption.Violations)}
	for _, pod := range preemption.Victims {
		told.Pods = append(told.Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
	}
	return victims{preemption.Node: told}, true
}

// spare leaves out nodes whose victims are of a gang that is about to start. If there is another way, it also
// leaves out nodes whose victims a running gang needs.
func (m *members) spare(victims victims) (harmless bool) {
	uids := map[string][]types.UID{}
	for node, of := range victims {
		uids[node] = nil
		for _, victim := range of.Pods {
			uids[node] = append(uids[node], types.UID(victim.UID))
		}
	}
	harm := m.manager.Harms(uids)
	maps.DeleteFunc(victims, func(node string, _ *extenderv1.MetaVictims) bool { return harm[node] == gang.BreaksStart })
	for _, of := range harm {
		if of == gang.NoHarm {
			maps.DeleteFunc(victims, func(node string, _ *extenderv1.MetaVictims) bool { return harm[node] == gang.BreaksGang })
			return true
		}
	}
	return false
}

func (m *members) planned(uid types.UID) bool { return m.manager.Planned(uid) }

func (m *members) giveWay(c *call) bool { return m.manager.GiveWay(c.subject.pod, c.store) }

// Permit implements [Permits].
func (m *members) Permit(ctx context.Context, uid types.UID, node string) error {
	return m.manager.Permit(ctx, uid, node)
}

// Bound implements [Permits].
func (m *members) Bound(uid types.UID, err error) { m.manager.Bound(uid, err) }

// noGangs knows of no gang.
type noGangs struct{}

func (noGangs) includes(*cluster.Pod) bool { return false }

func (noGangs) claim(*call) (answered bool, err error) { return false, nil }

func (noGangs) preempt(*call) (evicted victims, decided bool) { return nil, false }

func (noGangs) spare(victims) (harmless bool) { return true }

func (noGangs) planned(types.UID) bool { return false }

func (noGangs) giveWay(*call) bool { return false }

// Permit implements [Permits].
func (noGangs) Permit(context.Context, types.UID, string) error { return nil }

// Bound implements [Permits].
func (noGangs) Bound(types.UID, error) {}
