package nomination

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/api/seeded"
)

// aheadWorld is a world whose pods are gated, mostly, and whose scheduler has never heard of muster.
type aheadWorld struct {
	*world
	bystanders map[types.UID]bool // pods that were never gated
}

// createGated creates a pod: opted in, with the gate of others as well, or neither.
func (w *aheadWorld) createGated() {
	w.created++
	pod := newPod(fmt.Sprint("p", w.created), "1", ofPriority(int32(rapid.IntRange(0, 1).Draw(w.T, "priority"))))
	switch rapid.IntRange(0, 7).Draw(w.T, "gates") {
	case 0:
		w.bystanders[pod.UID] = true
	case 1:
		gatedAhead(pod)
		alsoGated(pod)
	case 2:
		gatedAhead(pod)
		pod.Spec.SchedulerName = "other"
	default:
		gatedAhead(pod)
	}
	w.put(pod)
}

// unlock is how others lift their gates, or muster's.
func (w *aheadWorld) unlock(gate string) func() {
	return func() {
		pod := w.some(func(pod *corev1.Pod) bool { return pending(pod) && len(pod.Spec.SchedulingGates) > 0 })
		without(gate)(pod)
		w.put(pod)
	}
}

// schedule is an attempt of the scheduler: at the node that the pod is nominated to, and then at all others.
func (w *aheadWorld) schedule() {
	pod := w.some(func(pod *corev1.Pod) bool { return pending(pod) && len(pod.Spec.SchedulingGates) == 0 })
	load := w.load()
	allowed := func(node string) bool {
		if pod.Spec.Affinity == nil {
			return true
		}
		return pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values[0] == node
	}
	chosen := ""
	for node := range w.cluster.Snapshot().Nodes() {
		if load[node.Name] < room && allowed(node.Name) && (chosen == "" || node.Name == pod.Status.NominatedNodeName) {
			chosen = node.Name
		}
	}
	if chosen == "" || rapid.IntRange(0, 3).Draw(w.T, "a filter of its own refuses the pod") == 0 {
		w.fail(pod)
		return
	}
	pod.Spec.NodeName, pod.Status.NominatedNodeName = chosen, ""
	delete(w.ours, pod.UID)
	w.put(pod)
}

// checkAhead checks the further invariants that hold at any time.
func (w *aheadWorld) checkAhead() {
	w.check()
	on := map[types.UID]string{}
	for node := range w.cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if other, counts := on[pod.UID]; counts {
				w.Fatalf("%s counts on %s and on %s", pod.UID, other, node.Name)
			}
			on[pod.UID] = node.Name
		}
	}
	for uid := range w.bystanders {
		if pod := w.pods[uid]; pod != nil && w.ours[uid] {
			w.Fatalf("%s was never gated, and is nominated to %s", uid, pod.Status.NominatedNodeName)
		}
	}
}

// letGoAll lets a long time pass in which no write fails, and the scheduler stands still.
func (w *aheadWorld) letGoAll() {
	w.settle()
	for range 60 {
		w.pass(5 * time.Second)
		w.receive()
		for w.plan() {
			w.receive()
		}
		for next := w.claim(); next != nil; next = w.claim() {
			w.writes = append(w.writes, writeUnderWay{next, w.answer(next)})
		}
		for len(w.writes) > 0 {
			w.finishWrite()
		}
		for len(w.watch) > 0 {
			w.show()
		}
		w.checkAhead()
	}
	for uid, pod := range w.pods {
		if hasGate(pod) && (pod.Spec.SchedulerName == "other" || !gatedByOthers(pod)) {
			p := w.course.nominees[uid]
			w.Fatalf("%s is gated still: %+v", uid, p)
		}
	}
}

func TestNoPodStaysGatedForEverAndEachCountsOnOneNodeAtMost(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		w := &aheadWorld{newWorld(t, ahead()), map[types.UID]bool{}}
		defer w.forget()
		do := func(step func()) func(*rapid.T) { return func(t *rapid.T) { w.T = t; step() } }
		t.Repeat(map[string]func(*rapid.T){
			"create": do(w.createGated), "create another": do(w.createGated), "label": do(w.label), "begin deletion": do(w.beginDeletion),
			"remove": do(w.remove), "nominate": do(w.nominate),
			"others lift their gate": do(w.unlock("example.com/other")), "others lift ours": do(w.unlock(v1alpha1.AheadGate)),
			"show": do(w.show), "show more": do(w.show), "show still more": do(w.show),
			"receive": do(w.receive), "plan": do(func() { w.receive(); w.plan() }), "plan without a look": do(func() { w.plan() }),
			"write": do(w.claimWrite), "write more": do(w.claimWrite), "finish a write": do(w.finishWrite), "finish another": do(w.finishWrite),
			"restart": do(w.restart), "schedule": do(w.schedule), "schedule more": do(w.schedule),
			"a second": do(func() { w.pass(time.Second) }), "a long time": do(func() { w.pass(time.Minute) }),
			"": do(w.checkAhead),
		})
		w.T = t
		w.letGoAll()
	})
}
