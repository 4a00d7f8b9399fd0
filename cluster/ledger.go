package cluster

import (
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
)

// place is where a pod counts.
type place struct {
	pod  *Pod
	node string
}

// ledger says where pods count, those included that the watch has not shown there: assumed, held and expected
// ones. Assumptions and expectations end by a timer, if nothing else ends them.
type ledger struct {
	*view

	log      *slog.Logger
	term     time.Duration // how long an assumption or an expectation lives
	clock    clock.WithDelayedExecution
	lock     sync.Locker // the cluster's, which timers take
	outcomes *prometheus.CounterVec

	placed   map[types.UID]place           // pods on a node, assumed ones included
	assumed  map[types.UID]*assumption     // the part of placed that the watch has not shown
	expected map[types.UID]*expectation    // pods that are about to be placed
	orphans  map[string]map[types.UID]*Pod // placed pods whose node is not known
}

// The parties that have a pod count on a node.
const (
	decided = true  // muster: every later judgement counts it
	shown   = false // the watch
)

// put makes a pod count on a node, and nowhere else.
func (l *ledger) put(pod *Pod, name string, foreseen bool) {
	l.unexpect(pod.UID, name)
	var aspects Aspect
	before, counted := l.placed[pod.UID]
	if _, dated := pod.True(corev1.PodScheduled); !dated {
		pod = pod.assigned(before, name, l.clock.Now())
	}
	switch {
	case !counted:
		aspects = podAspects(pod)
	case before.node == name:
		aspects = podChanges(before.pod, pod)
	default:
		l.take(pod.UID)
		aspects = podAspects(pod)
	}
	l.placed[pod.UID] = place{pod: pod, node: name}
	if node := l.node(name); node != nil {
		next := node.without(pod.UID).WithPod(pod)
		if foreseen || before.node == name && aspects&(AspectRequested|AspectPods|AspectPorts) == 0 {
			l.replace(next, aspects)
		} else {
			l.surprise(next, aspects)
		}
	} else {
		l.orphan(pod, name)
	}
}

// assigned returns the pod as it counts on a node from now on, or from when it came to count
// there.
func (p *Pod) assigned(before place, node string, now time.Time) *Pod {
	next := *p
	if next.Assigned = now; before.pod != nil && before.node == node && !before.pod.Assigned.IsZero() {
		next.Assigned = before.pod.Assigned
	}
	return &next
}

// take makes a pod count nowhere.
func (l *ledger) take(uid types.UID) {
	at, ok := l.placed[uid]
	if !ok {
		return
	}
	delete(l.placed, uid)
	if node := l.node(at.node); node != nil {
		l.surprise(node.without(uid), podAspects(at.pod))
		l.left(at)
		return
	}
	delete(l.orphans[at.node], uid)
	if len(l.orphans[at.node]) == 0 {
		delete(l.orphans, at.node)
	}
	if at.unseen() {
		l.noteFreed()
	}
}

// show has a pod count on the node where the watch shows it, which settles whether it was assumed there.
func (l *ledger) show(pod *Pod) {
	if a := l.assumed[pod.UID]; a != nil {
		outcome := outcomeConfirmed
		if a.node != pod.Spec.NodeName {
			outcome = outcomeRefuted
		}
		l.unassume(pod.UID, outcome)
	}
	l.put(pod, pod.Spec.NodeName, shown)
}

// update takes in what the watch shows of a pod without a node, which counts on one if it is assumed there.
func (l *ledger) update(pod *Pod) {
	if a := l.assumed[pod.UID]; a != nil {
		l.shownPending(pod, a)
	}
}

// orphan keeps a pod for when there is its node.
func (l *ledger) orphan(pod *Pod, node string) {
	if l.orphans[node] == nil {
		l.orphans[node] = map[types.UID]*Pod{}
	}
	l.orphans[node][pod.UID] = pod
}

// adopt returns the pods that count on a node which was not known so far.
func (l *ledger) adopt(node string) map[types.UID]*Pod {
	pods := l.orphans[node]
	delete(l.orphans, node)
	return pods
}

// podChanges returns the aspects of a node that change when one state of a pod on
// it gives way to the next.
func podChanges(from, to *Pod) Aspect {
	var changed Aspect
	if !from.Requests.equal(&to.Requests) ||
		from.NonZeroMilliCPU != to.NonZeroMilliCPU || from.NonZeroMemory != to.NonZeroMemory {
		changed |= AspectRequested
	}
	if !maps.Equal(from.Labels, to.Labels) || (from.DeletionTimestamp == nil) != (to.DeletionTimestamp == nil) ||
		!slices.Equal(from.Claims, to.Claims) {
		changed |= AspectPods
	}
	if !slices.Equal(from.HostPorts, to.HostPorts) {
		changed |= AspectPorts
	}
	if (from.Spec.NodeName == "") != (to.Spec.NodeName == "") && (asksDevices(from) || asksDevices(to)) {
		changed |= AspectDevices // what it asks for is allocated, and no longer on its way
	}
	if !sameState(from, to) {
		changed |= AspectPodStates
	}
	return changed
}

// asksDevices reports whether a pod may ask for devices: by claims, or by a resource that a DeviceClass may stand for.
func asksDevices(pod *Pod) bool { return len(pod.Claims) > 0 || len(pod.Requests.Scalars) > 0 }

// sameState reports whether nothing of AspectPodStates differs between two states of a pod. An API
// server lets neither priority nor quality of service change (ValidatePodUpdate and
// ValidatePodStatusUpdate in pkg/apis/core/validation/validation.go); the journal does not count
// on it.
func sameState(from, to *Pod) bool {
	return from.Limits.equal(&to.Limits) && maps.Equal(from.Annotations, to.Annotations) &&
		ptr.Equal(from.Spec.Priority, to.Spec.Priority) && from.Status.QOSClass == to.Status.QOSClass &&
		from.Assigned.Equal(to.Assigned) && from.Affiliation.equal(&to.Affiliation) &&
		alike(from, to, corev1.PodScheduled) && alike(from, to, corev1.PodInitialized)
}

// alike reports whether a condition of a pod is true in both of its states, since the same time,
// or in neither.
func alike(from, to *Pod, condition corev1.PodConditionType) bool {
	before, was := from.True(condition)
	after, is := to.True(condition)
	return was == is && before.Equal(after)
}

// Room is freed unseen when a pod ceases to count on a node where the API server never showed it: an assumption
// that is released, expires, moves or is refuted, room that was held, a pod that was expected. All of these end
// in markFreed, regardless of the caller and the reason, so that [Snapshot.Freed] misses none. A pod that the
// watch showed on its node leaves kube-scheduler's view as well. A lost node has no room to free, but the pod
// that counted there may go elsewhere now.

// left notes that a pod no longer counts on the node where it did.
func (l *ledger) left(at place) {
	if at.unseen() {
		l.markFreed()
	}
}

// unseen reports whether the watch has not shown the pod there.
func (p place) unseen() bool { return p.pod.Spec.NodeName != p.node }

// NoteFreed notes that pods may go where they could not, though nothing has ceased to count: somebody
// kept them off nodes, and does no more. The API server shows nothing of that either.
func (c *Cluster) NoteFreed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.view.noteFreed()
}

// noteFreed enters that room became free, though no node has changed.
func (v *view) noteFreed() {
	v.enter(Change{Node: -1})
	v.markFreed()
}

// markFreed notes of the last change that it freed room unseen.
func (v *view) markFreed() { v.freed = v.generation }

// passesBy reports whether a pod is bound to another node than it was nominated to: kube-scheduler kept
// room for it there, and tells nobody that it does no more (deletePodFromSchedulingQueue in
// pkg/scheduler/eventhandlers.go).
func (w *waiting) passesBy(bound *Pod) bool {
	was := w.pending[bound.UID]
	return was != nil && was.Status.NominatedNodeName != "" && was.Status.NominatedNodeName != bound.Spec.NodeName
}

// expectation is a pod that kube-scheduler is about to put on a node.
type expectation struct {
	pod   *Pod
	node  string
	timer clock.Timer
}

// Expect notes that a pod is likely to come to a node, in [Node.Expected]: kube-scheduler was
// told what suits the pod, and decides. An earlier expectation about the pod ends. One ends as
// well when the pod is assumed, is seen on a node or goes, when it is released, and when
// nothing is heard of the pod for as long as an assumption lives. It does nothing to a pod
// that counts on a node already.
func (c *Cluster) Expect(pod *Pod, node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.expect(pod, node)
}

func (l *ledger) expect(pod *Pod, node string) {
	l.unexpect(pod.UID, node)
	on := l.node(node)
	if _, placed := l.placed[pod.UID]; placed || on == nil {
		return
	}
	next := *on
	next.Expected = append(slices.Clip(on.Expected), pod)
	l.replace(&next, AspectExpected)
	e := &expectation{pod: pod, node: node}
	l.expected[pod.UID] = e
	e.timer = l.clock.AfterFunc(l.term, func() { l.disappoint(e) })
}

// Unexpect ends the expectation about a pod, if there is one.
func (c *Cluster) Unexpect(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ledger.unexpect(uid, "")
}

// disappoint ends an expectation that was not met in time.
func (l *ledger) disappoint(e *expectation) {
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.expected[e.pod.UID] == e {
		l.unexpect(e.pod.UID, "")
	}
}

// unexpect ends the expectation about a pod that comes to a node, "" for none.
func (l *ledger) unexpect(uid types.UID, comesTo string) {
	e := l.expected[uid]
	if e == nil {
		return
	}
	e.timer.Stop()
	delete(l.expected, uid)
	on := l.node(e.node)
	if on == nil || !slices.Contains(on.Expected, e.pod) {
		return // the node went meanwhile, and may have come again
	}
	next := *on
	next.Expected = slices.DeleteFunc(slices.Clone(on.Expected), func(p *Pod) bool { return p == e.pod })
	l.replace(&next, AspectExpected)
	if e.node != comesTo {
		l.markFreed()
	}
}
