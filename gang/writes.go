package gang

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/placement/nomination"
)

// writes sends what the core wants written to pods, one after the other. When the turn of a write has come, it asks the
// machine what is to be written still, and tells the machine what came of that.
type writes struct {
	client  Client
	writer  *nomination.Writer
	log     *slog.Logger
	results *prometheus.CounterVec // of evictions
	news    *news
}

// nominateTries is how often a nomination is written to a pod that keeps changing.
const nominateTries = 3

// post has the write of an effect done when its turn comes. That write reports whether it wrote anything.
func (w *writes) post(effect core.Effect, m *machine) {
	w.writer.Post(func(ctx context.Context) (bool, error) {
		switch e := effect.(type) {
		case core.Nominate:
			return w.nominate(ctx, m, e.UID, nominateTries)
		case core.Wake:
			return w.wake(ctx, m, e.UID)
		case core.LiftGate:
			return w.liftGate(ctx, m, e.UID)
		case core.Evict:
			return w.evict(ctx, m, e)
		default:
			return false, nil
		}
	})
}

// nominate brings what the status of a pod says in line with what is planned.
func (w *writes) nominate(ctx context.Context, m *machine, uid types.UID, tries int) (written bool, err error) {
	due := m.doLatest(core.Nominating{UID: uid}).write
	if due == nil { // it is right, or is not muster's
		return false, nil
	}
	err = w.client.Nominate(ctx, due.Pod.Pod, due.Node)
	if nomination.Outdated(err) && tries > 1 {
		w.writer.Post(func(ctx context.Context) (bool, error) { return w.nominate(ctx, m, uid, tries-1) })
	}
	if err != nil {
		m.do(core.NotNominated{UID: uid})
		err = fmt.Errorf("nominate %s/%s to %q: %w", due.Pod.Namespace, due.Pod.Name, due.Node, err)
	}
	return true, err
}

// wake has the scheduler try a pod again: a change of an annotation is an event to it.
func (w *writes) wake(ctx context.Context, m *machine, uid types.UID) (written bool, err error) {
	due := m.do(core.Waking{UID: uid}).write
	if due == nil {
		return false, nil
	}
	if err = w.client.Wake(ctx, due.Pod.Pod); err == nil {
		return true, nil
	}
	if !apierrors.IsNotFound(err) {
		m.do(core.NotWoken{UID: uid})
	}
	return true, fmt.Errorf("wake %s/%s: %w", due.Pod.Namespace, due.Pod.Name, err)
}

func (w *writes) liftGate(ctx context.Context, m *machine, uid types.UID) (written bool, err error) {
	due := m.doLatest(core.Lifting{UID: uid}).write
	if due == nil { // it is to stay on, or is off
		return false, nil
	}
	pod := due.Pod
	err = w.client.LiftGate(ctx, pod.Pod, v1alpha1.SchedulingGate)
	refused := refusesPod(err)
	m.do(core.GateLifted{UID: uid, Err: err, Refused: refused})
	switch {
	case refused: // the API server is well: nothing else waits
		w.log.Warn("gate not lifted: the API server refuses to", "pod", pod.Namespace+"/"+pod.Name, "err", err)
		return true, nil
	case err != nil:
		return true, fmt.Errorf("lift the gate of %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return true, nil
}

// refusesPod reports whether a write failed by what somebody demands of the one pod.
func refusesPod(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) }

// evict has a pod deleted that a group waits for, and tells of it.
func (w *writes) evict(ctx context.Context, m *machine, e core.Evict) (written bool, err error) {
	by, wanted := m.toEvict(e.Group, e.Pod)
	if !wanted {
		return false, nil
	}
	key, pod := e.Group, e.Pod
	log := w.log.With("pod", pod.Namespace+"/"+pod.Name, "node", pod.Spec.NodeName, "gang", key.String())
	if err = w.client.Evict(ctx, pod.Pod, key.String()); err != nil {
		log.Warn("pod not evicted for a gang", "err", err)
		w.results.WithLabelValues(resultFailed).Inc()
		return true, fmt.Errorf("evict %s/%s for %s: %w", pod.Namespace, pod.Name, key, err)
	}
	log.Info("pod evicted for a gang")
	w.results.WithLabelValues(resultEvicted).Inc()
	w.news.tell(told{pod.Pod, by, status.Preempted, fmt.Sprintf("evicted from node %s to make room for gang %s", pod.Spec.NodeName, key)})
	return true, nil
}

// Recorder writes the records of commits.
type Recorder interface {
	// Write puts a record on a PodGroup as the members were counted for it. It returns when the
	// record is written, or must not be (record.ErrFenced, record.ErrChanged), or the context ends.
	Write(ctx context.Context, podGroup *unstructured.Unstructured, r record.Record) error
}

// records sends the records of starts, beside everything else.
type records struct {
	recorder Recorder
	epoch    func() record.Epoch
	clock    clock.PassiveClock
	took     prometheus.Observer
	start    func(write func()) // has a write begun, and returns at once
}

// write has the records of a start written with the epoch of this process, and tells the machine what came of it.
func (r *records) write(w core.WriteRecords, m *machine) {
	for i := range w.Records {
		w.Records[i].Record.Epoch = r.epoch()
	}
	r.start(func() { m.doLatest(core.Recorded{Commit: w.Commit, Err: r.writeAll(w)}) })
}

func (r *records) writeAll(w core.WriteRecords) error {
	started := r.clock.Now()
	defer func() { r.took.Observe(r.clock.Since(started).Seconds()) }()
	ctx, cancel := context.WithTimeout(context.Background(), w.Until.Sub(started))
	defer cancel()
	for _, each := range w.Records {
		if err := r.recorder.Write(ctx, each.PodGroup, each.Record); err != nil {
			return err
		}
	}
	return nil
}
