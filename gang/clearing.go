package gang

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// clearing is what a group waits for that has places where others are still.
type clearing struct {
	victims map[string][]victim // by place
	until   time.Time           // the group waits
	seen    uint64              // the generation of the cluster of which that holds

	// evictAgain is when muster evicts pods itself that are not going by then.
	evictAgain time.Time
}

// victim is a pod that has to go, as the watch last showed it.
type victim struct {
	pod      *cluster.Pod
	violates bool // a disruption budget
}

func (v victim) is(pod *cluster.Pod) bool { return pod.UID == v.pod.UID }

// clear has the parts wait for victims to go from the places of their members.
func (m *Manager) clear(parts []part, victims map[string][]victim) {
	now, count, patience := m.clock.Now(), 0, time.Duration(0)
	for _, of := range victims {
		count += len(of)
		for _, v := range of {
			patience = max(patience, graceOf(v.pod, now))
		}
	}
	if count == 0 {
		return
	}
	m.metrics.preemptions.Inc()
	m.metrics.victims.Add(float64(count))
	m.log.Info("pods have to go for a gang", "gang", parts[0].key.String(), "pods", count)
	for _, p := range parts {
		if p.clearing == nil {
			p.clearing = &clearing{victims: map[string][]victim{}, evictAgain: now.Add(m.limits.Evict)}
		}
		for _, member := range p.in(placed) {
			for _, v := range victims[member.place] {
				if !slices.ContainsFunc(p.clearing.victims[member.place], func(known victim) bool { return known.is(v.pod) }) {
					p.clearing.victims[member.place] = append(p.clearing.victims[member.place], v)
				}
			}
		}
		if until := now.Add(patience + p.spec.Timeout); until.After(p.clearing.until) {
			p.clearing.until = until
		}
		p.waits(status.Waiting, fmt.Sprintf("waiting for %d pods to be evicted for it", count))
	}
}

// graceOf is how long a pod may take to go.
func graceOf(pod *cluster.Pod, now time.Time) time.Duration {
	switch seconds := pod.Spec.TerminationGracePeriodSeconds; {
	case pod.DeletionTimestamp != nil:
		return max(pod.DeletionTimestamp.Sub(now), 0)
	case seconds != nil:
		return time.Duration(*seconds) * time.Second
	default:
		return corev1.DefaultTerminationGracePeriodSeconds * time.Second
	}
}

// awaiting says that victims of a bundle are still there. Once all are gone, its time begins,
// and the scheduler is told, but of the member that it asks about.
func (m *Manager) awaiting(parts []part, asking *member) bool {
	waited, waits := false, false
	for _, p := range parts {
		if p.clearing != nil {
			waited = true
			waits = m.follow(p.group) || waits
		}
	}
	if waits || !waited {
		return waits
	}
	for _, p := range parts {
		if p.clearing == nil {
			continue
		}
		p.clearing, p.planned = nil, m.clock.Now()
		p.waits("", "")
		for _, member := range p.in(placed) {
			if member != asking {
				m.steer(member, m.worthNominating(member, m.cluster.Snapshot()))
			}
		}
	}
	return false
}

// follow forgets the victims of a group that are gone, or that no member waits for any more. It
// says whether there are others.
func (m *Manager) follow(g *group) bool {
	snap, left := m.cluster.Snapshot(), map[string][]victim{}
	if g.clearing.seen == snap.Generation {
		return len(g.clearing.victims) > 0
	}
	for _, p := range g.members {
		node := snap.NodeByName(p.place)
		if p.stage != placed || node == nil || left[p.place] != nil {
			continue
		}
		for _, v := range g.clearing.victims[p.place] {
			if at := slices.IndexFunc(node.Pods, v.is); at >= 0 {
				left[p.place] = append(left[p.place], victim{node.Pods[at], v.violates})
			}
		}
	}
	g.clearing.victims, g.clearing.seen = left, snap.Generation
	return len(left) > 0
}

// evictLeft evicts the victims that are not going yet. The scheduler does that by itself as it
// asks about one member after the other. But one that it has put aside since it fits no node
// it does not take up until a pod goes: no change of the pod itself is an event then
// (isSchedulableAfterPodEvent of NodeResourcesFit), so that members cannot be woken to it.
func (m *Manager) evictLeft(parts []part, now time.Time) {
	g := parts[0].group
	if g.clearing == nil || now.Before(g.clearing.evictAgain) || anyMissing(parts) {
		return
	}
	g.clearing.evictAgain = now.Add(evictRetry)
	for _, victims := range g.clearing.victims {
		for _, v := range victims {
			if v.pod.DeletionTimestamp == nil {
				m.writer.Post(func(ctx context.Context) (bool, error) { return m.evict(ctx, g.key, v.pod) })
			}
		}
	}
}

// evictRetry is how long an eviction is left to show.
const evictRetry = 10 * time.Second

// evict has a pod deleted that a group waits for, and tells of it.
func (m *Manager) evict(ctx context.Context, key membership.Key, pod *cluster.Pod) (written bool, err error) {
	m.mu.Lock()
	g := m.groups[key]
	var by string
	if g != nil {
		by = g.schedulerName
	}
	wanted := g != nil && g.clearing != nil &&
		slices.ContainsFunc(g.clearing.victims[pod.Spec.NodeName], func(v victim) bool { return v.is(pod) })
	m.mu.Unlock()
	if !wanted {
		return false, nil
	}
	log := m.log.With("pod", pod.Namespace+"/"+pod.Name, "node", pod.Spec.NodeName, "gang", key.String())
	if err = m.client.Evict(ctx, pod.Pod, key.String()); err != nil {
		log.Warn("pod not evicted for a gang", "err", err)
		m.metrics.evictions.WithLabelValues(resultFailed).Inc()
		return true, fmt.Errorf("evict %s/%s for %s: %w", pod.Namespace, pod.Name, key, err)
	}
	log.Info("pod evicted for a gang")
	m.metrics.evictions.WithLabelValues(resultEvicted).Inc()
	m.tell(told{pod.Pod, by, status.Preempted, fmt.Sprintf("evicted from node %s to make room for gang %s", pod.Spec.NodeName, key)})
	return true, nil
}
