package simulation

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// queued is a pod that waits for a node.
type queued struct {
	pod      *corev1.Pod
	priority int32
	turn     int
	held     bool // its bind call is
	// When it was tried last, and what the cluster was like; no time for never.
	at                time.Time
	generation, freed uint64
}

// compareTurns orders the queue as kube-scheduler does: by priority, and then as pods came.
func compareTurns(a, b *queued) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.turn, b.turn))
}

// patience is after what time a pod is tried though nothing has changed.
const patience = 10 * time.Second

// Queue has pods wait for a node.
func (w *World) Queue(pods ...*corev1.Pod) {
	for _, p := range pods {
		w.Set(p)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range pods {
		w.came++
		q := &queued{pod: p, priority: corev1helpers.PodPriority(p), turn: w.came}
		at, _ := slices.BinarySearchFunc(w.waiting, q, compareTurns)
		w.waiting, w.of[p.UID] = slices.Insert(w.waiting, at, q), q
	}
}

// leave takes a pod out of the queue. The caller holds the lock.
func (w *World) leave(uid types.UID) {
	q := w.of[uid]
	if at, waits := slices.BinarySearchFunc(w.waiting, q, compareTurns); waits {
		w.waiting = slices.Delete(w.waiting, at, at+1)
	}
	delete(w.of, uid)
}

// Waiting returns the pods without a node, in the order of the queue.
func (w *World) Waiting() (pods []*corev1.Pod) {
	for _, q := range w.queue() {
		pods = append(pods, q.pod)
	}
	return pods
}

func (w *World) queue() []*queued {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.waiting)
}

// isDue reports whether a pod is to be tried, and notes that it is.
func (w *World) isDue(q *queued) bool {
	snap, now := w.Cluster.Snapshot(), time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if q.held || !q.at.IsZero() && snap.Generation == q.generation && snap.Freed == q.freed && now.Sub(q.at) < patience {
		return false
	}
	q.at, q.generation, q.freed = now, snap.Generation, snap.Freed
	return true
}

// schedule is an attempt to schedule a pod.
func (w *World) schedule(q *queued, runs func(*corev1.Pod) time.Duration) {
	p := q.pod
	known := w.Cluster.PendingPod(p.UID)
	if known == nil {
		return
	}
	decision := w.gangs.Verbs.Filter(known, w.Cluster.Snapshot().NodeCount())
	switch {
	case decision.Reason != "":
		if !decision.Waits {
			w.Cluster.Release(p.UID)
		}
	case decision.Member:
		if err := w.Cluster.AssumeAll([]*cluster.Pod{known}, w.Cluster.Snapshot().NodeByName(decision.Node)); err != nil {
			return // the node has changed since: kube-scheduler would hear of that, and try again
		}
		w.gangs.Verbs.Placed(p.UID, decision.Node)
		w.hold(p.UID, true)
		go func() {
			err := w.gangs.Verbs.Permit(context.Background(), p.UID, decision.Node)
			<-time.After(q.binding())
			if err == nil {
				w.bind(p, decision.Node, runs(p))
			}
			w.hold(p.UID, false)
			w.gangs.Verbs.Bound(p.UID, err)
		}()
	default:
		if node := w.choose(known); node != "" {
			w.bind(p, node, runs(p))
		}
	}
}

// choose returns the node for a pod of no gang, "" for none.
func (w *World) choose(pod *cluster.Pod) string {
	store := w.rated.Of(pod.Spec.SchedulerName)
	if store == nil {
		return ""
	}
	left := w.keeper.Claim(pod, w.profiles.Of(pod.Spec.SchedulerName).Profile).Left
	if w.options.FirstFit {
		return w.first(pod, store, left)
	}
	view := store.View(pod)
	defer view.Close()
	var fitting []int32
	for node := range view.Snapshot.Nodes() {
		if !left.Has(node.Name) && view.Verdict(node.Index) == predicates.Fits {
			fitting = append(fitting, node.Index)
		}
	}
	if len(fitting) == 0 {
		return ""
	}
	totals := make([]int64, len(fitting))
	view.Rank(fitting, totals)
	return view.Snapshot.Node(fitting[w.best(totals)]).Name
}

// first returns the first node on which a pod fits.
func (w *World) first(pod *cluster.Pod, store *predicates.VerdictStore, left sets.Set[string]) string {
	snap := w.Cluster.Snapshot()
	judge := scenario.New(snap).Judge(store.Profile.JudgeFit(pod, snap))
	for node := range snap.Nodes() {
		if !left.Has(node.Name) && judge.Fits(node.Index) {
			return node.Name
		}
	}
	return ""
}

// best returns the place of the highest total; of several, that of one by the lot, as kube-scheduler does.
func (w *World) best(totals []int64) (best int) {
	highest, ties := int64(math.MinInt64), 0
	for i, total := range totals {
		switch {
		case total > highest:
			best, highest, ties = i, total, 1
		case total == highest:
			if ties++; w.random.IntN(ties) == 0 {
				best = i
			}
		}
	}
	return best
}

func (w *World) hold(uid types.UID, held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if q := w.of[uid]; q != nil {
		q.held = held
		if !held {
			q.at = time.Time{}
		}
	}
}

// client takes what gangs write. Nothing comes of it, except that a pod is tried again.
type client struct{ world *World }

// Nominate implements [gang.Client].
func (client) Nominate(context.Context, *corev1.Pod, string) error { return nil }

// LiftGate implements [gang.Client].
func (client) LiftGate(context.Context, *corev1.Pod, string) error { return nil }

// Wake implements [gang.Client].
func (c client) Wake(_ context.Context, p *corev1.Pod) error {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if q := c.world.of[p.UID]; q != nil {
		q.at = time.Time{}
	}
	return nil
}

// Evict implements [gang.Client].
func (client) Evict(context.Context, *corev1.Pod, string) error { return nil }

// Write implements [gang.Recorder].
func (client) Write(context.Context, *unstructured.Unstructured, record.Record) error { return nil }

// waits reports whether any pod does.
func (w *World) waits() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) > 0
}
