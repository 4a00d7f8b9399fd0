package requeue

import (
	"cmp"
	"time"

	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
)

// waiter is a pod that waits to be scheduled.
type waiter struct {
	pod *cluster.Pod
	// since is the generation of the cluster at which it was last looked at, or that before it
	// came: what was freed up to then does not matter to it any more.
	since uint64
	// refused is the generation at which muster last refused it, 0 when it has not since the last wake.
	refused uint64
	// heard says what is known of the last wake: unless that is nothing, the pod is looked at again,
	// whatever was freed.
	heard heard
	until time.Time // it rests
	rest  time.Duration
	// postponed is the postponed eviction, zero for none.
	postponed postponement
}

// postponement is that muster let a pod evict nobody on a node, as the cluster was at a generation: 0 if it did not know the pod.
type postponement struct {
	node       string
	generation uint64
	until      time.Time // zero if nobody knows until when
}

// isOver reports whether room was freed since, the time has passed, or the pod has become known.
func (p postponement) isOver(freed uint64, now time.Time) bool {
	return p.node != "" && (p.generation == 0 || p.generation < freed || p.hasPassed(now))
}

// hasPassed reports whether there was a time, and it has passed.
func (p postponement) hasPassed(now time.Time) bool { return !p.until.IsZero() && !now.Before(p.until) }

// heard is the news about a wake of a pod that still waits.
type heard int

const (
	nothing heard = iota // there is nothing to know: there was none, or all was done
	unknown              // it was not written, or would have been for others to write
	woken                // it was written, and the pod may be deaf to it
)

// A pod rests after it was woken, twice as long each time. The first time is longer than
// kube-scheduler takes for most pods, the last one a fraction of the time after which it tries a pod by
// itself.
const (
	firstRest = 5 * time.Second
	mostRest  = time.Minute
)

// restFrom has a pod rest that was woken.
func (w *waiter) restFrom(now time.Time) {
	w.rest = min(max(2*w.rest, firstRest), mostRest)
	w.until = now.Add(w.rest)
}

// isDue reports whether a pod is to be looked at when room was last freed at a generation, and everything that
// the view had a while ago was there at another one. A pod that muster refused is looked at as soon as anything
// has changed since: kube-scheduler may have seen the change first, and asked in vain, or may not see it at
// all, as the load of nodes.
func (w *waiter) isDue(freed, settled uint64, now time.Time) bool {
	changed := w.refused != 0 && w.refused < settled
	looks := changed || w.heard != nothing || w.since < freed || w.preempts() || w.postponed.hasPassed(now)
	return looks && !now.Before(w.until) && w.pod.Unschedulable()
}

// preempts reports whether kube-scheduler has made room for a pod, as far as it knows. The last victim
// may have gone before it was ready to hear of that: when another pod preempts the same victims,
// the event finds the pod gated (prepareCandidateAsync in pkg/scheduler/framework/preemption/executor.go).
func (w *waiter) preempts() bool { return w.pod.Status.NominatedNodeName != "" }

// byLook compares pods by when they were looked at, so that each has its turn.
func byLook(a, b *waiter) int { return cmp.Or(cmp.Compare(a.since, b.since), byTurn(a.pod, b.pod)) }

// byTurn compares pods by the order in which kube-scheduler takes them.
func byTurn(a, b *cluster.Pod) int {
	return cmp.Or(
		cmp.Compare(corev1helpers.PodPriority(b.Pod), corev1helpers.PodPriority(a.Pod)),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}
