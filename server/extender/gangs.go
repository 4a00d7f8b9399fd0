package extender

import (
	"context"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
)

// Gangs holds the members of gangs together, as [gang.Verbs] do.
type Gangs interface {
	// Permit waits until a pod may be bound to a node. After a nil error Bound must follow.
	Permit(ctx context.Context, uid types.UID, node string) error
	// Bound reports the result of a binding.
	Bound(uid types.UID, err error)
	// Filter decides about a pod that the scheduler asks about for a number of nodes.
	Filter(pod *cluster.Pod, nodes int) core.Decision
	// Placed says that filter was answered with a node on which the pod counts now.
	Placed(uid types.UID, node string)
	// Refused says that the scheduler was told of no node for a pod, and whether it missed the pod's place: see [core.Refused].
	Refused(pod *cluster.Pod, missed bool)
	// Preempt decides about a pod that the scheduler would evict others for.
	Preempt(pod *cluster.Pod) (answer core.Preemption, starting bool)
	// Harms says what the evictions on each of some nodes would do to gangs.
	Harms(victims map[string][]types.UID) map[string]core.Harm
	// GiveWay makes room for a pod if plans of lower priority are in the way.
	GiveWay(pod *cluster.Pod, store *predicates.VerdictStore) bool
	// Planned reports whether a pod counts on its node only since it was planned there.
	Planned(uid types.UID) bool
	// Pass returns once the lock was free.
	Pass()
}

// members claims the members of gangs.
type members struct {
	picker       *picker
	manager      Gangs
	reservations Reservations
}

func (m *members) claim(q *request, of *memory, given advice) (claim, error) {
	decision := m.manager.Filter(q.pod, len(q.nodes.indexes))
	switch {
	case decision.Reason != "":
		if !decision.Waits {
			m.picker.cluster.Release(q.pod.UID)
		}
		return decide(m.picker.refuse(q, decision.Reason)), nil
	case decision.Member:
		placed, err := m.place(q, of, &decision)
		return decide(placed), err
	default:
		return leave(given), nil
	}
}

// place answers about a member of a gang whose members have places: with its own, if
// that is among the candidates and still fits, else with the best candidate, unless no other node will do. Of room that plans of
// the rescheduler keep, the members have taken theirs with their places.
func (m *members) place(q *request, of *memory, d *core.Decision) (answer, error) {
	left := m.reservations.LeftBy(q.pod)
	placed, done, err := m.picker.confirm(q, of, d.Node, left)
	node := d.Node
	switch {
	case done:
	case d.Only:
		placed, node = m.picker.refuse(q, core.ReasonNoPlace), ""
	default:
		placed, node, err = m.picker.choose(q, of, left)
	}
	switch {
	case err != nil:
	case node == "":
		m.manager.Refused(q.pod, m.picker.missed(q, d.Node, left))
	default:
		m.manager.Placed(q.pod.UID, node)
	}
	return placed, err
}

// preempt answers for a member of a gang that has not started.
func (m *members) preempt(about subject) (evicted victims, decided bool) {
	preemption, starting := m.manager.Preempt(about.pod)
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
	maps.DeleteFunc(victims, func(node string, _ *extenderv1.MetaVictims) bool { return harm[node] == core.BreaksStart })
	for _, of := range harm {
		if of == core.NoHarm {
			maps.DeleteFunc(victims, func(node string, _ *extenderv1.MetaVictims) bool { return harm[node] == core.BreaksGang })
			return true
		}
	}
	return false
}

func (m *members) planned(uid types.UID) bool { return m.manager.Planned(uid) }

func (m *members) giveWay(q *request) bool { return m.manager.GiveWay(q.pod, q.store) }

// permitted returns how a pod is bound by bind once its gang may be bound. The gang is told of the result.
func (m *members) permitted(bind send) send {
	return func(ctx context.Context, pod *cluster.Pod, node string) (took time.Duration, err error) {
		if err := m.manager.Permit(ctx, pod.UID, node); err != nil {
			return 0, err
		}
		took, err = bind(ctx, pod, node)
		m.manager.Bound(pod.UID, err)
		return took, err
	}
}

// isUnknownMember reports whether a stranger may be of a gang. It goes nowhere and evicts nobody: a gang is of pods that the watch shows.
func (e *Extender) isUnknownMember(stranger *cluster.Pod) bool {
	if !e.gangs {
		return false
	}
	_, member := membership.Of(stranger)
	return member || e.picker.cluster.Owners.MayBelong(stranger.Pod)
}
