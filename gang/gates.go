package gang

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha2 "muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

// gate is what became of the scheduling gate of a pod that the watch shows with one.
type gate int

const (
	shut    gate = iota
	lifting      // a write is on its way
	lifted       // as the API server said
)

// liftRetry is how long a gate is left after it could not be lifted.
const liftRetry = time.Second

// gated says that the scheduler does not look at the pod until muster lifts its gate.
func (p *member) gated() bool { return p.gate != lifted && membership.Gated(p.pod.Pod) }

// stray notes a pod that is of no group and has the gate all the same: its labels changed, or
// somebody wrote the gate by hand.
func (m *Manager) stray(pod *cluster.Pod) {
	switch known := m.strays[pod.UID]; {
	case m.groupOf[pod.UID] != nil || !membership.Gated(pod.Pod):
		delete(m.strays, pod.UID)
	case known == nil:
		m.strays[pod.UID] = &member{pod: pod}
	default:
		known.pod = pod
	}
}

// liftGates has those gates lifted for which there is no reason any more, those of a group
// one after the other. It looks at what is, and not at what happened, so that nothing that
// was missed leaves a pod gated.
func (m *Manager) liftGates() {
	for _, g := range m.liftStrays() {
		m.liftGatesOf(g) // filter calls may come between
	}
}

// liftStrays is that for pods of no group. The groups are left to do.
func (m *Manager) liftStrays() []*group {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	for _, p := range m.strays {
		if m.canLift(p) {
			m.lift(p)
		}
	}
	return m.inOrder()
}

func (m *Manager) liftGatesOf(g *group) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.groups[g.key] != g {
		return
	}
	for _, p := range m.toFree(g) {
		m.lift(p)
	}
}

// canLift says that a pod has a gate about which nothing is being done.
func (m *Manager) canLift(p *member) bool {
	return p.gated() && p.gate == shut && p.pod.DeletionTimestamp == nil && !m.clock.Now().Before(p.liftAgain)
}

// toFree are the members of a group whose gates are to be lifted, in the order in which the
// scheduler takes them.
func (m *Manager) toFree(g *group) []*member {
	if g.counts[pending]+g.counts[placed] == 0 {
		return nil
	}
	var gated []*member
	for _, p := range g.members {
		if m.canLift(p) {
			gated = append(gated, p)
		}
	}
	if len(gated) == 0 {
		return nil
	}
	mayGo := m.mayGo(g)
	gated = slices.DeleteFunc(gated, func(p *member) bool {
		ours := m.profiles.Of(p.pod.Spec.SchedulerName) != nil // else its scheduler is to decide
		return ours && !mayGo(p)
	})
	slices.SortFunc(gated, byTurn)
	return gated
}

// mayGo says of which members of a group the gates have no reason any more.
func (m *Manager) mayGo(g *group) func(*member) bool {
	if m.gates != configv1alpha2.GatesUntilMembers && m.gates != configv1alpha2.GatesUntilPlace {
		return func(*member) bool { return true }
	}
	parts, reason := m.bundle(g)
	switch {
	case reason != "":
		return func(*member) bool { return false }
	case startedAll(parts),
		m.gates == configv1alpha2.GatesUntilMembers && !slices.ContainsFunc(parts, part.lacksMembers),
		m.gates == configv1alpha2.GatesUntilPlace && m.mayPreempt(parts):
		return (*member).ready
	default:
		return func(p *member) bool { return p.stage == placed }
	}
}

// lacksMembers says that there are fewer members than must start together.
func (p part) lacksMembers() bool { return len(readyOf(p.in(pending))) < p.missing() }

// mayPreempt says that gangs for which no place was found may get one by preemption, which is
// the scheduler's to begin: there is a pod that may be evicted for them. That is looked up once
// after each plan.
func (m *Manager) mayPreempt(parts []part) bool {
	g := parts[0].group
	if g.looked == 0 || g.weighed == g.looked {
		return g.looked != 0 && g.mayEvict
	}
	g.weighed, g.mayEvict = g.looked, m.findsVictims(parts)
	return g.mayEvict
}

func (m *Manager) findsVictims(parts []part) bool {
	for _, p := range parts {
		if slices.ContainsFunc(readyOf(p.in(pending)), neverPreempts) {
			return false
		}
	}
	terms := m.termsFor(parts)
	snap := m.cluster.Snapshot()
	if m.outranked.generation < parts[0].looked {
		m.outranked = outrankedIn(snap)
	}
	if terms.below <= m.outranked.lowest {
		return false
	}
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			if _, may := terms.may(pod); may {
				return true
			}
		}
	}
	return false
}

// outranked is the lowest priority of a pod that was bound in a generation of the cluster: gangs of
// no higher one had no victims then, which is found out once for all of them.
type outranked struct {
	generation uint64
	lowest     int32
}

func outrankedIn(snap *cluster.Snapshot) outranked {
	o := outranked{snap.Generation, math.MaxInt32}
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			if pod.Spec.NodeName != "" {
				o.lowest = min(o.lowest, priority(pod))
			}
		}
	}
	return o
}

func neverPreempts(p *member) bool {
	policy := p.pod.Spec.PreemptionPolicy
	return policy != nil && *policy == corev1.PreemptNever
}

// lift has the gate of a pod lifted.
func (m *Manager) lift(p *member) {
	p.gate = lifting
	uid := p.pod.UID
	m.writer.Post(func(ctx context.Context) (bool, error) { return m.writeLift(ctx, uid) })
}

func (m *Manager) writeLift(ctx context.Context, uid types.UID) (written bool, err error) {
	pod := m.toLift(uid)
	if pod == nil {
		return false, nil
	}
	err = m.client.LiftGate(ctx, pod.Pod, v1alpha1.SchedulingGate)
	m.liftEnded(uid, err)
	if err != nil {
		err = fmt.Errorf("lift the gate of %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return true, err
}

// toLift is the pod whose gate is to be lifted, nil when that is done or the pod is gone.
func (m *Manager) toLift(uid types.UID) *cluster.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	if p := m.known(uid); p != nil && p.gated() {
		return p.pod
	}
	return nil
}

// liftEnded says what came of lifting a gate.
func (m *Manager) liftEnded(uid types.UID, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.known(uid)
	switch {
	case p == nil:
	case err == nil:
		p.gate = lifted
	default:
		p.gate, p.liftAgain = shut, m.clock.Now().Add(liftRetry)
	}
}

// known is a pod that is a member or may have the gate, nil when it is neither.
func (m *Manager) known(uid types.UID) *member {
	if g := m.groupOf[uid]; g != nil {
		return g.members[uid]
	}
	return m.strays[uid]
}
