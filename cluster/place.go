package cluster

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// setPod applies what the watch says of a pod that has not finished.
func (c *Cluster) setPod(pod *Pod) {
	defer c.arrive(pod.UID)
	c.podFollowers.tell(PodState{UID: pod.UID, Pod: pod})
	if pod.Spec.NodeName == "" {
		c.setPending(pod)
		if a := c.assumed[pod.UID]; a != nil {
			c.put(pod, a.node, shown)
		}
		return
	}
	passedBy := c.passesBy(pod)
	c.removePending(pod.UID, pod.Spec.NodeName)
	if a := c.assumed[pod.UID]; a != nil {
		outcome := outcomeConfirmed
		if a.node != pod.Spec.NodeName {
			outcome = outcomeRefuted
		}
		c.settle(pod.UID, outcome)
	}
	c.put(pod, pod.Spec.NodeName, shown)
	if passedBy {
		c.freed = c.generation
	}
}

// removePod applies that a pod is gone or finished.
func (c *Cluster) removePod(uid types.UID) {
	defer c.arrive(uid)
	c.unexpect(uid, "")
	c.podFollowers.tell(PodState{UID: uid})
	c.removePending(uid, "")
	c.settle(uid, outcomeRefuted)
	c.take(uid)
}

// Who has a pod count on a node.
const (
	decided = true  // muster: whoever is judged later has it counted
	shown   = false // the watch
)

// put makes a pod count on a node, and nowhere else.
func (c *Cluster) put(pod *Pod, name string, foreseen bool) {
	c.unexpect(pod.UID, name)
	var aspects Aspect
	before, counted := c.placed[pod.UID]
	if _, dated := pod.True(corev1.PodScheduled); !dated {
		pod = pod.assigned(before, name, c.clock.Now())
	}
	switch {
	case !counted:
		aspects = podAspects(pod)
	case before.node == name:
		aspects = podChanges(before.pod, pod)
	default:
		c.take(pod.UID)
		aspects = podAspects(pod)
	}
	c.placed[pod.UID] = place{pod: pod, node: name}
	if node := c.node(name); node != nil {
		next := node.WithoutPod(pod.UID).WithPod(pod)
		if foreseen || before.node == name && aspects&(AspectRequested|AspectPods|AspectPorts) == 0 {
			c.replace(next, aspects)
		} else {
			c.surprise(next, aspects)
		}
	} else {
		c.orphan(pod, name)
	}
}

// assigned is the pod as it counts on a node from now on, or from when it came to count
// there.
func (p *Pod) assigned(before place, node string, now time.Time) *Pod {
	next := *p
	if next.Assigned = now; before.pod != nil && before.node == node && !before.pod.Assigned.IsZero() {
		next.Assigned = before.pod.Assigned
	}
	return &next
}

// take makes a pod count nowhere.
func (c *Cluster) take(uid types.UID) {
	at, ok := c.placed[uid]
	if !ok {
		return
	}
	delete(c.placed, uid)
	if node := c.node(at.node); node != nil {
		c.replace(node.WithoutPod(uid), podAspects(at.pod))
		c.left(at)
		return
	}
	delete(c.orphans[at.node], uid)
	if len(c.orphans[at.node]) == 0 {
		delete(c.orphans, at.node)
	}
	if at.unseen() {
		c.noteFreed()
	}
}

func (c *Cluster) orphan(pod *Pod, node string) {
	if c.orphans[node] == nil {
		c.orphans[node] = map[types.UID]*Pod{}
	}
	c.orphans[node][pod.UID] = pod
}

// podChanges are the aspects of a node that change when one state of a pod on
// it gives way to the next.
func podChanges(from, to *Pod) Aspect {
	var changed Aspect
	if !from.Requests.equal(&to.Requests) ||
		from.NonZeroMilliCPU != to.NonZeroMilliCPU || from.NonZeroMemory != to.NonZeroMemory {
		changed |= AspectRequested
	}
	if !maps.Equal(from.Labels, to.Labels) || (from.DeletionTimestamp == nil) != (to.DeletionTimestamp == nil) {
		changed |= AspectPods
	}
	if !slices.Equal(from.HostPorts, to.HostPorts) {
		changed |= AspectPorts
	}
	if !sameState(from, to) {
		changed |= AspectPodStates
	}
	return changed
}

// sameState says that nothing of AspectPodStates differs between two states of a pod. An API
// server lets neither priority nor quality of service change (ValidatePodUpdate and
// ValidatePodStatusUpdate in pkg/apis/core/validation/validation.go); the journal does not count
// on it.
func sameState(from, to *Pod) bool {
	return from.Limits.equal(&to.Limits) && maps.Equal(from.Annotations, to.Annotations) &&
		ptr.Equal(from.Spec.Priority, to.Spec.Priority) && from.Status.QOSClass == to.Status.QOSClass &&
		from.Assigned.Equal(to.Assigned) && alike(from, to, corev1.PodScheduled) && alike(from, to, corev1.PodInitialized)
}

// alike says that a condition of a pod is true in both of its states, since the same time,
// or in neither.
func alike(from, to *Pod, condition corev1.PodConditionType) bool {
	before, was := from.True(condition)
	after, is := to.True(condition)
	return was == is && before.Equal(after)
}
