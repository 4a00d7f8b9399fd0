package conformance

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// show has the watch show the next news of pods or of nodes, a few or all of them.
func (i *Interleaving) show() error {
	s := i.source
	if s.chance(10) {
		i.api.skipNews()
	}
	if s.chance(30) {
		return i.showNodes(one(s, 1, 2, all))
	}
	return i.showPods(one(s, 1, 1, 2, all))
}

// all is more news than there is.
const all = 1 << 20

func (i *Interleaving) showPods(many int) error { return i.api.showPods(many, i.beforePod) }

// beforePod notes what the watch shows of a pod, and ends what muster may go by unless it has foreseen the news: a
// pod waits, goes, or has come where it counted already, unchanged.
func (i *Interleaving) beforePod(pod *corev1.Pod) {
	if isGone(pod) {
		i.note("the watch shows: pod %s is gone", pod.Name)
		return
	}
	i.note("the watch shows: pod %s on %q, %s", pod.Name, pod.Spec.NodeName, pod.Status.Phase)
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return // it has gone, whether the watch has shown it before or not
	}
	before := i.api.pods.shown[pod.UID]
	counted := i.cluster.Assumed(pod.UID)
	if before != nil && counted == "" {
		counted = before.Spec.NodeName
	}
	relabelled := before != nil && counted != "" && !maps.Equal(before.Labels, pod.Labels)
	if node := pod.Spec.NodeName; node != "" && node != counted || relabelled {
		i.judgeAnew()
	}
}

func (i *Interleaving) showNodes(many int) error {
	changed, err := i.api.showNodes(many)
	if changed {
		i.note("the watch shows nodes")
		i.judgeAnew()
	}
	return err
}

// judgeAnew notes that muster's pick has to be judged again.
func (i *Interleaving) judgeAnew() {
	for _, offers := range []map[types.UID]*offered{i.offers, i.doubts} {
		for _, offer := range offers {
			offer.judged = nil
		}
	}
}

// meanwhile has something happen while a pod is judged in the next call. A Nominator judges beside the calls, so
// nothing does where there is one.
func (i *Interleaving) meanwhile(pod *corev1.Pod) {
	if i.Mode.Nominates {
		return
	}
	i.during[pod.Name] = func() {
		clear(i.during)
		i.note("meanwhile:")
		var err error
		switch i.source.upTo(3) {
		case 0:
			err = i.show()
		case 1:
			i.changeNode()
			err = i.showNodes(all)
		case 2:
			i.place(i.replica())
			err = i.showPods(all)
		default:
			// While a class is judged for the first time, calls about its other pods wait.
			if other := i.anyPending(); other != nil && other.UID != pod.UID && len(pod.OwnerReferences) == 0 {
				err = i.filter(other)
			}
		}
		if err != nil {
			i.failed = err
		}
	}
}

// replica draws a pod of one of the templates.
func (i *Interleaving) replica() *corev1.Pod {
	i.born++
	pod := one(i.source, i.templates...).DeepCopy()
	pod.Name = fmt.Sprintf("pending-%d", i.born)
	pod.UID = types.UID(pod.Name)
	return pod
}

// create creates a pod that waits, or now and then one that somebody else has placed.
func (i *Interleaving) create() {
	pod := i.replica()
	if i.source.chance(15) {
		i.place(pod)
		return
	}
	i.note("pod %s is created", pod.Name)
	i.api.setPod(pod)
}

// place creates a pod on a node, or binds one that waits there, as another scheduler does.
func (i *Interleaving) place(pod *corev1.Pod) {
	names := i.api.nodeNames()
	if len(names) == 0 {
		return
	}
	placed := pod.DeepCopy()
	placed.Spec.NodeName = one(i.source, names...)
	i.note("pod %s is placed on %s by somebody else", pod.Name, placed.Spec.NodeName)
	i.api.setPod(placed)
}

// changePod changes a pod, or makes it go.
func (i *Interleaving) changePod() error {
	pods := i.api.podsThat(func(*corev1.Pod) bool { return true })
	if len(pods) == 0 {
		return nil
	}
	s := i.source
	pod := one(s, pods...)
	next := pod.DeepCopy()
	how := one(s, "delete", "delete", "terminating", "finished", "labels", "elsewhere", "running")
	if pod.Spec.NodeName == "" {
		how = one(s, "delete", "labels", "elsewhere")
	}
	switch how {
	case "delete":
		i.note("pod %s is deleted", pod.Name)
		i.api.deletePod(pod)
		return nil
	case "terminating":
		terminate(next)
	case "finished":
		next.Status.Phase = corev1.PodSucceeded
	case "labels":
		next.Labels = one(s, i.templates...).Labels
	case "elsewhere":
		if pod.Spec.NodeName == "" {
			i.place(pod)
		}
		return nil
	case "running":
		next.Status.Phase = corev1.PodRunning
	}
	i.note("pod %s: %s", pod.Name, how)
	i.api.setPod(next)
	return nil
}

// nominate nominates a pod that waits to a node, or takes that back, as kube-scheduler does.
func (i *Interleaving) nominate() {
	pod, names := i.anyPending(), i.api.nodeNames()
	if pod == nil || len(names) == 0 {
		return
	}
	next := pod.DeepCopy()
	next.Status.NominatedNodeName = one(i.source, append(names, "")...)
	if offer := i.offers[pod.UID]; offer != nil && i.source.chance(60) {
		next.Status.NominatedNodeName = one(i.source, offer.nodes...)
	}
	i.note("pod %s is nominated to %q", pod.Name, next.Status.NominatedNodeName)
	i.api.setPod(next)
}

// changeNode adds, deletes or changes a node.
func (i *Interleaving) changeNode() {
	s := i.source
	name := nodeName(s.upTo(mostRivalled - 1))
	drawn, known := i.drawNode(name), i.api.node(name)
	if known == nil {
		i.note("node %s: new", name)
		i.api.setNode(drawn)
		return
	}
	next := known.DeepCopy()
	how := one(s, "delete", "cordon", "cordon", "taints", "labels", "labels", "allocatable", "features", "nothing")
	i.note("node %s: %s", name, how)
	if how == "delete" {
		i.api.deleteNode(known)
		return
	}
	if how == "taints" && s.chance(50) {
		drawn.Spec.Taints = []corev1.Taint{{Key: taintKey(s), Effect: taintEffect(s)}}
	}
	alter(next, drawn, how)
	i.api.setNode(next)
}
