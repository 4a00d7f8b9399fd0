package server

import (
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/holes"
)

// claim notes in the call which nodes plans of the rescheduler keep a pod away from, and
// returns where they keep room for it.
func (e *Extender) claim(c *call, profile *predicates.VerdictStore, pod *cluster.Pod) []holes.Place {
	if e.holes == nil {
		return nil
	}
	claim := e.holes.Claim(pod, profile.Profile)
	e.avoid(c, claim.Left)
	return claim.Places
}

// leftBy are the nodes that plans of the rescheduler keep a pod away from.
func (e *Extender) leftBy(pod *cluster.Pod) sets.Set[string] {
	if e.holes == nil {
		return nil
	}
	return e.holes.Left([]*cluster.Pod{pod})
}

// avoid notes in the call which nodes plans of the rescheduler keep a pod away from.
func (e *Extender) avoid(c *call, names sets.Set[string]) {
	c.left = c.left[:0]
	for name := range names {
		if node := e.cluster.Snapshot().NodeByName(name); node != nil {
			c.left = append(c.left, node.Index)
		}
	}
}

// verdict is that of the view, unless plans keep the pod away from the node. Without plans
// there is nothing to look for.
func (c *call) verdict(view *predicates.View, index int32) predicates.Verdict {
	verdict := view.Verdict(index)
	if verdict == predicates.Fits && len(c.left) > 0 && slices.Contains(c.left, index) {
		return predicates.LeftNode
	}
	return verdict
}

// fill answers with the first of the places that is among the candidates and that the pod
// fits, and has the pod count there. It says false when there is none.
func (e *Extender) fill(c *call, profile *predicates.VerdictStore, pod *cluster.Pod, places []holes.Place) (done bool, err error) {
	e.cluster.Release(pod.UID) // the room is kept for it anyway
	for i := range places {
		for c.ctx.Err() == nil {
			snap := e.cluster.Snapshot()
			node := snap.NodeByName(places[i].Node)
			if node == nil {
				break
			}
			at := slices.Index(c.candidates.in(snap), node.Index)
			if at < 0 || !places[i].Suits(pod, profile.Profile, snap) {
				break
			}
			err := e.holes.Take(&places[i], pod, node)
			if err == nil {
				reply := newFilterReply(c)
				e.offer(c, &reply, at, pod, node, snap)
				return true, nil
			}
			if !errors.Is(err, cluster.ErrNodeChanged) {
				break // as the ordinary way will say
			}
		}
	}
	return false, c.ctx.Err()
}

// takesHole says that a pod fits a node but for what plans of the rescheduler hold there.
func (e *Extender) takesHole(pod *cluster.Pod, node *cluster.Node, snap *cluster.Snapshot) bool {
	free := node
	for _, held := range node.Pods {
		if held.Held {
			free = free.WithoutPod(held.UID)
		}
	}
	if free == node {
		return false
	}
	profile := e.profiles.Of(pod.Spec.SchedulerName)
	if profile == nil {
		return false
	}
	judgement := profile.Profile.Judge(pod, snap)
	if judgement.Verdict(node) == predicates.Fits {
		return false
	}
	judgement.Suppose(free)
	return judgement.Verdict(free) == predicates.Fits
}

// isElsewhere says that a pod is not for the Nominator: it is of a gang, or has room kept for
// it.
func (e *Extender) isElsewhere(pod *corev1.Pod) bool {
	if _, member := membership.Of(pod); member {
		return true
	}
	if e.holes == nil {
		return false
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return e.holes.Concerns(pod.UID, "")
	}
	return e.holes.Concerns(pod.UID, owner.UID)
}
