package gang

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/gang/membership"
)

// preempt is an attempt of the scheduler to evict others for a pod.
func (w *world) preempt() { w.preemptFor(w.some(w.mayBeAsked)) }

// mayBeAsked says that the scheduler may be at a pod.
func (w *world) mayBeAsked(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && !membership.Gated(pod) && w.letGo[pod.UID] == "" && !w.isHeld(pod.UID)
}

func (w *world) preemptFor(pod *corev1.Pod) {
	answer, _ := w.Verbs.Preempt(w.cluster.PendingPod(pod.UID))
	if len(answer.Victims) == 0 {
		return
	}
	key, _ := membership.Marked(pod)
	if s, _, _ := w.Observer.Member(pod.UID); s.Bound+s.Binding+s.Succeeded+s.Placed+s.Held < w.asked(key.Name) {
		w.Fatalf("pods are evicted for %+v of %d members of %s", s, w.asked(key.Name), key)
	}
	for _, v := range answer.Victims {
		victim := w.pods[v.UID]
		if victim == nil {
			continue // it has ended, and the watch is late
		}
		if victim.Spec.NodeName != answer.Node {
			w.Fatalf("%s is to be evicted from %s, and is on %s", v.Name, answer.Node, victim.Spec.NodeName)
		}
		if podPriority(v) >= podPriority(w.cluster.PendingPod(pod.UID)) {
			w.Fatalf("%s is evicted for %s, which is not more important", v.Name, pod.Name)
		}
		if s, _, member := w.Observer.Member(v.UID); member && s.Held+s.Binding > 0 && !w.everVictim.Has(v.UID) {
			w.Fatalf("%s is evicted from %s, which is about to start: %+v", v.Name, s.Name, s)
		}
		w.delete(victim)
	}
	w.check()
}

// victims are all that gangs wait for.
func (w *world) victims() sets.Set[types.UID] {
	victims := w.machine.state.Victims()
	w.everVictim = w.everVictim.Union(victims)
	return victims
}

// delete is somebody who deletes a pod that runs: it has a while to end.
func (w *world) delete(pod *corev1.Pod) {
	pod = pod.DeepCopy()
	until := metav1.NewTime(w.clock.Now().Add(30 * time.Second))
	pod.DeletionTimestamp = &until
	w.put(pod)
}

// runsOn reports whether a pod is on a node and stays there.
func runsOn(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil }

func isLeaving(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" && pod.DeletionTimestamp != nil }

// end is a pod that was deleted and has ended.
func (w *world) end() { w.drop(w.some(isLeaving)) }

// makeWay has all go that gangs wait for.
func (w *world) makeWay() {
	for uid := range w.victims() {
		if pod := w.pods[uid]; pod != nil && pod.DeletionTimestamp == nil {
			w.delete(pod)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		if pod := w.pods[uid]; isLeaving(pod) {
			w.drop(pod)
		}
	}
}
