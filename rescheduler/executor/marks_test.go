package executor

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// newCoalescing is a world whose plan empties n1, for nobody.
func newCoalescing(t *testing.T, mark config.NodeMark) *world {
	t.Helper()
	w := newWorld(t, v1alpha1.Auto)
	w.gone("big")
	w.options.Mark = mark
	w.restart()
	w.stored.Spec.Policy, w.stored.Spec.Beneficiaries, w.stored.Spec.Empties = v1alpha1.Coalesce, nil, []string{"n1"}
	w.reservations.Set(w.stored)
	return w
}

// marks are the annotations of n1, its taints, and unschedulable when it is.
func (w *world) marks() map[string]string {
	node := w.cluster.Snapshot().NodeByName("n1")
	all := map[string]string{}
	maps.Copy(all, node.Annotations)
	if node.Spec.Unschedulable {
		all[unschedulable] = "true"
	}
	for _, taint := range node.Spec.Taints {
		all[taint.Key] = string(taint.Effect)
	}
	return all
}

func (w *world) wantMarks(want map[string]string) {
	w.Helper()
	if diff := cmp.Diff(want, w.marks()); diff != "" {
		w.Errorf("marks (-want +got):\n%s", diff)
	}
}

const (
	emptying      = v1alpha1.AnnotationEmptying
	emptied       = v1alpha1.AnnotationEmptied
	cordoned      = v1alpha1.AnnotationCordoned
	closed        = v1alpha1.TaintClosed
	closedUntil   = v1alpha1.AnnotationClosedUntil
	inAnHour      = "2030-01-02T13:00:00Z"
	unschedulable = "unschedulable"
)

func TestANodeIsMarkedBeforeItIsEmptied(t *testing.T) {
	for mark, want := range map[config.NodeMark][2]map[string]string{
		config.MarkNone:     {{}, {}},
		config.MarkAnnotate: {{emptying: "p"}, {emptied: "p"}},
		config.MarkTaint:    {{emptying: "p", closed: "NoSchedule"}, {emptied: "p", closed: "NoSchedule", closedUntil: inAnHour}},
		config.MarkCordon: {
			{emptying: "p", cordoned: "true", unschedulable: "true"}, {emptied: "p", cordoned: "true", unschedulable: "true", closedUntil: inAnHour},
		},
	} {
		t.Run(string(mark), func(t *testing.T) {
			w := newCoalescing(t, mark)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			w.wantMarks(want[0])
			w.restart()
			w.gone("small-1")
			w.set(w.small("small-2", "n2"))
			w.want(v1alpha1.Succeeded, v1alpha1.StepMoved, "")
			w.wantMarks(want[1])
			// Something comes to it, as it is needed after all.
			returned := w.small("small-3", "n1")
			w.set(returned)
			w.advance()
			w.wantMarks(map[string]string{})
		})
	}
}

func TestANodeOnWhichSomethingStaysIsNotEmptied(t *testing.T) {
	marked := map[string]string{emptying: "p", cordoned: "true", unschedulable: "true"}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		first  string            // why the plan fails if the pod is there before the first step, "" if it does not
		last   map[string]string // the marks if it comes after the last one
	}{
		"a pod of somebody": {func(*corev1.Pod) {}, "n1 would not become empty any more: default/new is there", map[string]string{}},
		"a pod of a DaemonSet": {
			func(p *corev1.Pod) {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "ds", UID: "ds", Controller: new(true)}}
			},
			"",
			map[string]string{emptied: "p", cordoned: "true", unschedulable: "true", closedUntil: inAnHour},
		},
		"a pod that ends": {func(p *corev1.Pod) { p.DeletionTimestamp = new(p.CreationTimestamp) }, "", marked},
	} {
		newcomer := func(w *world) *corev1.Pod {
			pod := w.pod("new", "1")
			pod.Spec.NodeName = "n1"
			test.change(pod)
			return pod
		}
		t.Run(name+", before the first step", func(t *testing.T) {
			w := newCoalescing(t, config.MarkCordon)
			w.set(newcomer(w))
			if test.first == "" {
				w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
				return
			}
			w.want(v1alpha1.Failed, v1alpha1.StepWaiting, test.first)
			w.wantMarks(map[string]string{})
		})
		t.Run(name+", while an eviction waits", func(t *testing.T) {
			w := newCoalescing(t, config.MarkCordon)
			w.refusal = apierrors.NewTooManyRequests("budget", 0)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits until a PodDisruptionBudget")
			w.wantMarks(marked)
			w.set(newcomer(w))
			w.refusal = nil
			w.clock.Step(firstPause)
			if test.first == "" {
				w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
				return
			}
			w.want(v1alpha1.Failed, v1alpha1.StepEvicting, test.first)
			w.wantMarks(map[string]string{})
		})
		t.Run(name+", after the last step", func(t *testing.T) {
			w := newCoalescing(t, config.MarkCordon)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			w.set(newcomer(w))
			w.gone("small-1")
			w.set(w.small("small-2", "n2"))
			w.want(v1alpha1.Succeeded, v1alpha1.StepMoved, "")
			w.wantMarks(test.last)
		})
	}
}

func TestANodeThatIsNotToBeRemovedAnyMoreIsNotEmptied(t *testing.T) {
	w := newCoalescing(t, config.MarkCordon)
	w.change("n1", func(n *corev1.Node) {
		n.Annotations = map[string]string{"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
	})
	w.want(v1alpha1.Failed, v1alpha1.StepWaiting, "n1 is not to be emptied any more: the node is annotated not to be removed")
}

func TestNothingIsEvictedFromANodeThatCannotBeMarked(t *testing.T) {
	w := newCoalescing(t, config.MarkCordon)
	w.unmarked = errors.New("no")
	w.want(v1alpha1.Approved, v1alpha1.StepWaiting, "waits: cannot mark the nodes that become empty: no")
	w.unmarked = nil
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
}

func TestTheMarksOfAPlanThatDidNotSucceedAreTakenOff(t *testing.T) {
	for name, end := range map[string]func(*world){
		"it fails":      func(w *world) { w.gone("small-1"); w.set(w.small("small-2", "n1")) },
		"it expires":    func(w *world) { w.clock.Step(time.Hour) },
		"it is deleted": func(w *world) { w.reservations.Delete("p") },
		"it ended while no process was there": func(w *world) {
			ended := w.stored.DeepCopy()
			ended.Status.Phase = v1alpha1.Failed
			w.restart()
			w.reservations.Set(ended)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newCoalescing(t, config.MarkCordon)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			w.wantMarks(map[string]string{emptying: "p", cordoned: "true", unschedulable: "true"})
			end(w)
			for range 3 {
				w.executor.Advance(t.Context())
			}
			w.wantMarks(map[string]string{})
		})
	}
}

func TestTheCordonOfAUserStays(t *testing.T) {
	cordon := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	uncordon := func(n *corev1.Node) { n.Spec.Unschedulable = false }
	unseen := func(w *world, how func(*corev1.Node)) {
		node := w.cluster.Snapshot().NodeByName("n1").DeepCopy()
		how(node)
		w.unseen = map[string]*corev1.Node{"n1": node}
	}
	nothing := func(*world) {}
	for name, test := range map[string]struct {
		before, during func(*world)
		marks          []config.NodeMark
	}{
		"from before the plan": {
			func(w *world) { w.change("n1", cordon) }, nothing,
			[]config.NodeMark{config.MarkAnnotate, config.MarkTaint, config.MarkCordon},
		},
		"from before the plan, which the watch has not shown": {
			func(w *world) { unseen(w, cordon) }, nothing, []config.NodeMark{config.MarkAnnotate, config.MarkTaint, config.MarkCordon},
		},
		"from the time of the plan": {
			nothing, func(w *world) { w.change("n1", cordon) }, []config.NodeMark{config.MarkAnnotate, config.MarkTaint},
		},
		"from the time of the plan, which the watch has not shown": {
			nothing, func(w *world) { unseen(w, cordon) }, []config.NodeMark{config.MarkAnnotate, config.MarkTaint},
		},
		"after it had uncordoned the node": {
			nothing, func(w *world) {
				w.change("n1", uncordon)
				w.advance()
				w.change("n1", cordon)
			}, []config.NodeMark{config.MarkAnnotate, config.MarkTaint, config.MarkCordon},
		},
		"after it had uncordoned the node, which the watch has not shown": {
			nothing, func(w *world) {
				unseen(w, func(n *corev1.Node) {
					cordon(n)
					n.ManagedFields = []metav1.ManagedFieldsEntry{
						{Manager: "muster", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{}}}`)},
						{Manager: "kubectl-cordon", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:unschedulable":{}}}`)},
					}
				})
			}, []config.NodeMark{config.MarkAnnotate, config.MarkTaint, config.MarkCordon},
		},
	} {
		for _, mark := range test.marks {
			t.Run(name+", "+string(mark), func(t *testing.T) {
				w := newCoalescing(t, mark)
				test.before(w)
				w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
				test.during(w)
				w.reservations.Delete("p")
				w.executor.Advance(t.Context())
				w.executor.Advance(t.Context())
				w.wantMarks(map[string]string{unschedulable: "true"})
			})
		}
	}
}

func TestTheTaintsOfOthersStay(t *testing.T) {
	w := newCoalescing(t, config.MarkTaint)
	w.change("n1", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "before", Effect: corev1.TaintEffectPreferNoSchedule}}
	})
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	w.change("n1", func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "during", Effect: corev1.TaintEffectPreferNoSchedule})
	})
	w.wantMarks(map[string]string{emptying: "p", closed: "NoSchedule", "before": "PreferNoSchedule", "during": "PreferNoSchedule"})
	w.reservations.Delete("p")
	w.executor.Advance(t.Context())
	w.wantMarks(map[string]string{"before": "PreferNoSchedule", "during": "PreferNoSchedule"})
}

func TestANodeThatNoPlanIsNamedForIsOpened(t *testing.T) {
	for _, mark := range []config.NodeMark{config.MarkTaint, config.MarkCordon} {
		t.Run(string(mark), func(t *testing.T) {
			w := newCoalescing(t, mark)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			w.change("n1", func(n *corev1.Node) { delete(n.Annotations, emptying) })
			w.executor.Advance(t.Context())
			w.wantMarks(map[string]string{})
		})
	}
}

func TestUnmarkTakesOffWhatPlansHavePutOn(t *testing.T) {
	marked := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{
			v1alpha1.AnnotationEmptied: "plan", v1alpha1.AnnotationCordoned: "true", v1alpha1.AnnotationRemovable: "true", "example.com/a": "b",
		}},
		Spec: corev1.NodeSpec{
			Unschedulable: true,
			Taints:        []corev1.Taint{{Key: v1alpha1.TaintClosed, Effect: "NoSchedule"}, {Key: "example.com/t", Effect: "NoSchedule"}},
		},
	}
	others := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: corev1.NodeSpec{Unschedulable: true}}
	if !Unmark(marked) || Unmark(marked) || Unmark(others) {
		t.Error("a node with marks has none, or one without has some")
	}
	want := corev1.NodeSpec{Taints: []corev1.Taint{{Key: "example.com/t", Effect: "NoSchedule"}}}
	if diff := cmp.Diff(want, marked.Spec); diff != "" || len(marked.Annotations) != 1 {
		t.Errorf("annotations %v, spec (-want +got):\n%s", marked.Annotations, diff)
	}
	if !others.Spec.Unschedulable {
		t.Error("a cordon of somebody else is taken off")
	}
}
