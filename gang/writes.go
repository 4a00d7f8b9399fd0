package gang

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/placement/nomination"
)

// writes is how pods are written to, one after the other.
type writes struct {
	client Client
	writer *nomination.Writer
}

// nominateTries is how often a nomination is written to a pod that keeps changing.
const nominateTries = 3

// toWrite returns the write for an effect, to be done when its turn comes. That write reports whether it wrote
// anything.
func (m *machine) toWrite(effect core.Effect) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		switch e := effect.(type) {
		case core.Nominate:
			return m.nominate(ctx, e.UID, nominateTries)
		case core.Wake:
			return m.wake(ctx, e.UID)
		case core.LiftGate:
			return m.liftGate(ctx, e.UID)
		case core.Evict:
			return m.evict(ctx, e.Group, e.Pod)
		default:
			return false, nil
		}
	}
}

// nominate brings what the status of a pod says in line with what is planned.
func (m *machine) nominate(ctx context.Context, uid types.UID, tries int) (written bool, err error) {
	w := m.toNominate(uid)
	if w == nil {
		return false, nil
	}
	err = m.writes.client.Nominate(ctx, w.Pod.Pod, w.Node)
	if nomination.Outdated(err) && tries > 1 {
		m.writes.writer.Post(func(ctx context.Context) (bool, error) { return m.nominate(ctx, uid, tries-1) })
	}
	if err != nil {
		m.do(core.NotNominated{UID: uid})
		err = fmt.Errorf("nominate %s/%s to %q: %w", w.Pod.Namespace, w.Pod.Name, w.Node, err)
	}
	return true, err
}

// toNominate returns what is to be written to the status of a pod, nil when it is right or is not
// muster's.
func (m *machine) toNominate(uid types.UID) *core.Write {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	return m.apply(core.Nominating{UID: uid}).write
}

// toLift returns the pod whose gate is to be lifted, nil when it is to stay on, or is off.
func (m *machine) toLift(uid types.UID) *core.Write {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	return m.apply(core.Lifting{UID: uid}).write
}

// wake has the scheduler try a pod again: a change of an annotation is an event to it.
func (m *machine) wake(ctx context.Context, uid types.UID) (written bool, err error) {
	w := m.do(core.Waking{UID: uid}).write
	if w == nil {
		return false, nil
	}
	if err = m.writes.client.Wake(ctx, w.Pod.Pod); err == nil {
		return true, nil
	}
	if !apierrors.IsNotFound(err) {
		m.do(core.NotWoken{UID: uid})
	}
	return true, fmt.Errorf("wake %s/%s: %w", w.Pod.Namespace, w.Pod.Name, err)
}

func (m *machine) liftGate(ctx context.Context, uid types.UID) (written bool, err error) {
	w := m.toLift(uid)
	if w == nil {
		return false, nil
	}
	pod := w.Pod
	err = m.writes.client.LiftGate(ctx, pod.Pod, v1alpha1.SchedulingGate)
	refused := refusesPod(err)
	m.do(core.GateLifted{UID: uid, Err: err, Refused: refused})
	switch {
	case refused: // the API server is well: nothing else waits
		m.log.Warn("gate not lifted: the API server refuses to", "pod", pod.Namespace+"/"+pod.Name, "err", err)
		return true, nil
	case err != nil:
		return true, fmt.Errorf("lift the gate of %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return true, nil
}

// refusesPod reports whether a write failed by what somebody demands of the one pod.
func refusesPod(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) }

// evict has a pod deleted that a group waits for, and tells of it.
func (m *machine) evict(ctx context.Context, key membership.Key, pod *cluster.Pod) (written bool, err error) {
	by, wanted := m.toEvict(key, pod)
	if !wanted {
		return false, nil
	}
	log := m.log.With("pod", pod.Namespace+"/"+pod.Name, "node", pod.Spec.NodeName, "gang", key.String())
	if err = m.writes.client.Evict(ctx, pod.Pod, key.String()); err != nil {
		log.Warn("pod not evicted for a gang", "err", err)
		m.metrics.evictions.WithLabelValues(resultFailed).Inc()
		return true, fmt.Errorf("evict %s/%s for %s: %w", pod.Namespace, pod.Name, key, err)
	}
	log.Info("pod evicted for a gang")
	m.metrics.evictions.WithLabelValues(resultEvicted).Inc()
	m.tell(told{pod.Pod, by, status.Preempted, fmt.Sprintf("evicted from node %s to make room for gang %s", pod.Spec.NodeName, key)})
	return true, nil
}

func (m *machine) toEvict(key membership.Key, pod *cluster.Pod) (schedulerName string, wanted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.ToEvict(key, pod)
}
