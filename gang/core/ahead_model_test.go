package core

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// A scheduler that nobody registered muster with treats pods with gates and nominations so: it keeps the room
// of gated pods that are nominated, from pods that it takes up a second later. Pods that it has taken up before
// may still be bound there. When another scheduler leads, it knows of no nomination of a gated pod that has not
// changed since.

// modelMargin is how long the scheduler acts on what it saw before.
const modelMargin = time.Second

// aheadPod extends a pod for a gang that starts without calls.
type aheadPod struct {
	nominating, waking bool  // a write is on its way
	nominated          int8  // the node, one more; 0 for none
	known              int16 // since when the scheduler knows of that, -1 for not
	touched            int8  // counts updates
	refused            bool  // its condition says so
}

// nomination returns the node in the pod's status.
func (p *aheadPod) nomination() string { return nodeName(p.nominated - 1) }

// dress puts on a pod what it is told.
func (p *aheadPod) dress(pod *corev1.Pod) {
	if p.nominated > 0 {
		pod.Status.NominatedNodeName = p.nomination()
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: cluster.FieldManager, FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
		}}
	}
	if p.refused {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
}

func (c *code) aheadPod(p *aheadPod) {
	c.flag(p.nominating, p.waking, p.refused)
	c.put(int(p.nominated))
	if p.nominated > 0 {
		c.put(int(max(p.known-c.now, -2)))
	}
}

// aheadSteps are the possible steps of a scheduler that does not know of muster.
func (w *world) aheadSteps(add func(may bool, k kind, of int)) {
	if !w.ahead {
		return
	}
	for i := range w.pods {
		p := &w.pod[i]
		add(p.nominating, nominate, i)
		add(p.waking, touch, i)
		add(p.phase == waits && p.free && w.schedulable(i) >= 0, schedule, i)
		add(p.phase == waits && p.free && w.schedulable(i) < 0 && !p.refused, refuse, i)
	}
	for group := range mostGroups {
		add(true, confirm, group)
	}
	for node := range w.room {
		add(!w.gone[node] && w.roomFor(int8(node), -1) > 0, rivalBound, node)
	}
	add(true, another, 0)
}

// roomFor is how many pods the scheduler would bind to a node: what is nominated there counts if it has had its time to
// see it. So does who asks.
func (w *world) roomFor(node int8, asking int) int {
	room := w.room[node] - int(w.taken[node])
	for i := range w.pods {
		p := &w.pod[i]
		switch {
		case i == asking:
		case p.runs() && p.place == node:
			room--
		case p.phase == waits && p.nominated == node+1 && (p.known >= 0 && w.now-p.known >= int16(modelMargin/time.Second) || asking >= 0):
			room--
		}
	}
	return room
}

// schedulable is the node that the scheduler binds a pod to: the nominated one first, -1 for none.
func (w *world) schedulable(i int) int8 {
	if at := w.pod[i].nominated - 1; at >= 0 && !w.gone[at] && w.roomFor(at, i) > 0 {
		return at
	}
	for node := range w.room {
		if !w.gone[node] && w.roomFor(int8(node), i) > 0 {
			return int8(node)
		}
	}
	return -1
}

func (w *world) takeAhead(k kind, i int) {
	p := &w.pod[i]
	switch k {
	case nominate:
		p.nominating = false
		w.apply(Nominating{w.uid(i)})
	case touch:
		p.waking = false
		w.apply(Waking{w.uid(i)})
	case schedule:
		if node := w.schedulable(i); node != p.place {
			p.place, p.came, p.owed = node, 0, false
		}
		w.bound(i)
	case refuse:
		p.refused = true
		w.show(i)
	case confirm:
		w.apply(ConfirmDue{keyOf(i)})
	case rivalBound:
		w.taken[i]++
		w.moment++
	case another:
		for i := range w.pods {
			if w.pod[i].phase == waits && !w.pod[i].free {
				w.pod[i].known = -1
			}
		}
		w.apply(SchedulerChanged{})
	default:
	}
}

// written applies a write by Nominating or Waking.
func (w *world) written(e Write, wake bool) {
	i := w.index(e.Pod.UID)
	if i < 0 || w.pod[i].phase != waits {
		return
	}
	p := &w.pod[i]
	if !wake {
		p.nominated = nodeIndex(e.Node) + 1
	}
	p.touched, p.known = p.touched+1, w.now
	w.show(i)
}

// FindLost returns the members that have no room any more.
func (w *world) FindLost(s Search) (lost []types.UID) {
	var pods []*cluster.Pod
	for _, part := range s.Parts {
		pods = append(pods, part.Pods...)
	}
	w.note("find lost ", len(pods), describeSearch(Search{Parts: []Wanted{{Pods: pods}}}))
	for _, pod := range pods {
		p := &w.pod[w.index(pod.UID)]
		if p.place < 0 || w.gone[p.place] || w.free(p.place, nil) < 0 {
			lost = append(lost, pod.UID)
			p.place = -1 // for the next one
			defer func(at int8) { p.place = at }(nodeIndex(w.state.member(pod.UID).place))
		}
	}
	w.loseAll(lost)
	return lost
}

// loseAll ends the time of the groups that keep no place when these are lost. Whatever is planned for them from
// then on is a plan of its own, with all the time that a gang has.
func (w *world) loseAll(lost []types.UID) {
	of := map[int]int{}
	for _, uid := range lost {
		of[w.groups[w.index(uid)]]++
	}
	for group, count := range of {
		if g := w.state.groups[keyOf(group)]; count == g.counts[placed]+g.counts.came() {
			w.group[group].began = -1
		}
	}
}

// checkLift says whether a gate that is lifted may be: the room of the pod is kept in the scheduler, and nobody else has
// it.
func (w *world) checkLift(i int) {
	p, member := &w.pod[i], w.state.member(w.uid(i))
	if !w.ahead || member == nil || member.stage != due || member.behind {
		return
	}
	switch {
	case p.nominated != p.place+1:
		w.bad("%s is let go, and nominated to %d", w.uid(i), p.nominated-1)
	case p.known < 0:
		w.bad("%s is let go, and the scheduler does not know of its nomination", w.uid(i))
	case w.now-p.known < int16(modelMargin/time.Second):
		w.bad("%s is let go, and the scheduler may not know of its nomination yet", w.uid(i))
	case !w.gone[p.place] && w.free(p.place, nil) < 0:
		w.bad("%s is let go, and others have its place", w.uid(i))
	}
}

// aheadKinds are the steps of this file.
func aheadKinds() []kind {
	return []kind{nominate, touch, schedule, refuse, confirm, rivalBound, another}
}

func isAhead(k kind) bool { return slices.Contains(aheadKinds(), k) }
