package executor

import (
	"fmt"
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// newEmptied is a world in which n1, of 4 cores, was emptied, and n2 has no room left.
func newEmptied(t *testing.T, mark config.NodeMark) *world {
	t.Helper()
	w := newCoalescing(t, mark)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	w.gone("small-1")
	w.set(w.small("small-2", "n2"))
	w.want(v1alpha1.Succeeded, v1alpha1.StepMoved, "")
	w.reservations.Set(w.stored)
	return w
}

// closing returns the marks by which a node stays closed.
func closing(mark config.NodeMark) map[string]string {
	if mark == config.MarkTaint {
		return map[string]string{emptied: "p", closed: "NoSchedule", closedUntil: inAnHour}
	}
	return map[string]string{emptied: "p", cordoned: "true", unschedulable: "true", closedUntil: inAnHour}
}

func TestAnEmptiedNodeIsOpenedForAPodThatNeedsIt(t *testing.T) {
	for _, mark := range []config.NodeMark{config.MarkTaint, config.MarkCordon} {
		for name, test := range map[string]struct {
			before func(*world)
			opens  bool
		}{
			"a pod fits nowhere else": {func(w *world) { w.set(w.pod("waits", "3")) }, true},
			"it does after a crash and when the plan is forgotten": {func(w *world) {
				w.restart()
				w.reservations.Delete("p")
				w.set(w.pod("waits", "3"))
			}, true},
			"the cordon has brought about its taint": {func(w *world) {
				w.change("n1", func(n *corev1.Node) {
					if n.Spec.Unschedulable {
						n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
					}
				})
				w.set(w.pod("waits", "3"))
			}, true},
			"there is another node": {func(w *world) {
				w.node("n3", "4")
				w.set(w.pod("waits", "3"))
			}, false},
			"it is too large for the node as well": {func(w *world) { w.set(w.pod("waits", "5")) }, false},
			"another taint keeps it off": {func(w *world) {
				w.change("n1", func(n *corev1.Node) {
					n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "theirs", Effect: corev1.TaintEffectNoSchedule})
				})
				w.set(w.pod("waits", "3"))
			}, false},
			"it is for others to place": {func(w *world) {
				pod := w.pod("waits", "3")
				pod.Spec.SchedulerName = "another"
				w.set(pod)
			}, false},
			"it is gated by others": {func(w *world) {
				pod := w.pod("waits", "3")
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/approval"}}
				w.set(pod)
			}, false},
		} {
			t.Run(fmt.Sprintf("%s, %s", name, mark), func(t *testing.T) {
				w := newEmptied(t, mark)
				w.wantMarks(closing(mark))
				test.before(w)
				w.clock.Step(needPause)
				before := w.marks()
				w.executor.Advance(t.Context())
				got := w.marks()
				_, tainted := got[closed]
				if open := got[unschedulable] == "" && !tainted; open != test.opens {
					t.Errorf("the node is open: %t; its marks were %v and are %v", open, before, got)
				}
				if !test.opens && !maps.Equal(before, got) {
					t.Errorf("its marks were %v and are %v", before, got)
				}
				if test.opens && (got[emptied] != "p" || got[closedUntil] != "" || got[cordoned] != "") {
					t.Errorf("its marks are %v, want that it was emptied and no more", got)
				}
			})
		}
	}
}

func TestAsManyEmptiedNodesAreOpenedAsPodsNeed(t *testing.T) {
	w := newEmptied(t, config.MarkTaint)
	for _, name := range []string{"n0", "n3"} { // emptied as well
		w.node(name, "4")
		w.change(name, func(n *corev1.Node) {
			n.Annotations = map[string]string{emptied: "other", closedUntil: inAnHour}
			n.Spec.Taints = []corev1.Taint{{Key: closed, Effect: corev1.TaintEffectNoSchedule}}
		})
	}
	for _, name := range []string{"waits-1", "waits-2", "waits-3"} { // two fit on a node
		w.set(w.pod(name, "2"))
	}
	w.clock.Step(needPause)
	w.executor.Advance(t.Context())
	for name, open := range map[string]bool{"n0": true, "n1": true, "n3": false} {
		if got := len(w.cluster.Snapshot().NodeByName(name).Spec.Taints) == 0; got != open {
			t.Errorf("%s is open: %t", name, got)
		}
	}
}

func TestNoNodeIsOpenedForAPodThatAPlanKeepsRoomFor(t *testing.T) {
	waits := v1alpha1.Beneficiary{PodReference: v1alpha1.PodReference{Namespace: "default", Name: "waits", UID: "waits"}, Node: "n2"}
	for name, test := range map[string]struct {
		beneficiaries []v1alpha1.Beneficiary
		opens         bool
	}{
		"it does":                {[]v1alpha1.Beneficiary{waits}, false},
		"the room is for others": {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newEmptied(t, config.MarkTaint)
			w.set(w.pod("waits", "3"))
			next := w.stored.DeepCopy()
			next.Name, next.UID, next.Status.Phase = "next", "next", v1alpha1.Approved
			next.Spec.Steps, next.Status.Steps, next.Spec.Beneficiaries = nil, nil, test.beneficiaries
			w.reservations.Set(next)
			w.clock.Step(needPause)
			if needed := w.executor.marks.needed(); needed.Has("n1") != test.opens {
				t.Errorf("%v is needed", needed)
			}
		})
	}
}

func TestItIsLookedAtOnceWhatANewcomerNeeds(t *testing.T) {
	w := newEmptied(t, config.MarkTaint)
	w.clock.Step(needPause)
	w.executor.Advance(t.Context())
	w.set(w.pod("waits", "3"))
	w.clock.Step(newcomerPause)
	if needed := w.executor.marks.needed(); !needed.Has("n1") {
		t.Error("nobody has looked")
	}
	w.clock.Step(newcomerPause)
	if needed := w.executor.marks.needed(); len(needed) > 0 {
		t.Errorf("it is looked again, though nobody came: %v", needed)
	}
}

func TestAnEmptiedNodeIsOpenedWhenItsTimeIsOver(t *testing.T) {
	for _, mark := range []config.NodeMark{config.MarkTaint, config.MarkCordon} {
		t.Run(string(mark), func(t *testing.T) {
			w := newEmptied(t, mark)
			w.clock.Step(time.Hour - time.Second)
			w.executor.Advance(t.Context())
			w.wantMarks(closing(mark))
			w.restart()
			w.reservations.Delete("p")
			w.clock.Step(time.Second)
			w.executor.Advance(t.Context())
			w.wantMarks(map[string]string{emptied: "p"})
		})
	}
	t.Run("which one says that it has none", func(t *testing.T) {
		w := newEmptied(t, config.MarkCordon)
		w.change("n1", func(n *corev1.Node) { n.Annotations[closedUntil] = "some day" })
		w.executor.Advance(t.Context())
		w.wantMarks(closing(config.MarkCordon))
	})
	t.Run("unless it was cordoned by a user then", func(t *testing.T) {
		w := newEmptied(t, config.MarkTaint)
		w.change("n1", func(n *corev1.Node) { n.Spec.Unschedulable = true })
		w.clock.Step(time.Hour)
		w.executor.Advance(t.Context())
		w.wantMarks(map[string]string{emptied: "p", unschedulable: "true"})
	})
}
