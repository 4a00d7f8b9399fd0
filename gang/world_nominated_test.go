package gang

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

// nominate is kube-scheduler that has evicted pods for one of no gang, or somebody else who sees
// to it that there will be room for it: beside all that stays, and what is promised already.
func (w *world) nominate() {
	pod := w.some(func(pod *corev1.Pod) bool { _, member := membership.Marked(pod); return !member && w.mayBeAsked(pod) })
	var names []string
	for node := range w.cluster.Snapshot().Nodes() {
		if len(staying(node.Pods))+w.promisedOn(node.Name, w.cluster.PendingPod(pod.UID)) < room {
			names = append(names, node.Name)
		}
	}
	if len(names) == 0 {
		w.Skip()
	}
	pod.Status.NominatedNodeName = rapid.SampledFrom(names).Draw(w.T, "node")
	w.put(pod)
}

// takeBack is kube-scheduler that has failed with a pod: its nomination ends.
func (w *world) takeBack(pod *corev1.Pod) {
	if pod.Status.NominatedNodeName != "" {
		pod = pod.DeepCopy()
		pod.Status.NominatedNodeName = ""
		w.put(pod)
	}
}

// promisedOn is how many others have room on a node that kube-scheduler keeps from a pod.
func (w *world) promisedOn(name string, from *cluster.Pod) int {
	count := 0
	for _, pod := range w.cluster.Nominated() {
		if pod.UID != from.UID && pod.Status.NominatedNodeName == name && podPriority(pod) >= podPriority(from) {
			count++
		}
	}
	return count
}

// checkPromises says that what is promised to the most important ones is not taken by anybody.
func (w *world) checkPromises(node *cluster.Node, stay []*cluster.Pod) {
	stay, top, promised := staying(stay), int32(math.MinInt32), 0
	for _, pod := range stay {
		top = max(top, podPriority(pod))
	}
	for _, pod := range w.cluster.Nominated() {
		switch p := podPriority(pod); {
		case pod.Status.NominatedNodeName != node.Name || p < top:
		case p > top:
			top, promised = p, 1
		default:
			promised++
		}
	}
	if promised > 0 && len(stay)+promised > room {
		w.Fatalf("%d pods stay on %s, where room is promised to %d that are as important", len(stay), node.Name, promised)
	}
}

// staying returns the pods that are not being deleted.
func staying(pods []*cluster.Pod) []*cluster.Pod {
	var stay []*cluster.Pod
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			stay = append(stay, pod)
		}
	}
	return stay
}

func (w *world) nodeNames() (names []string) {
	for node := range w.cluster.Snapshot().Nodes() {
		names = append(names, node.Name)
	}
	return names
}
