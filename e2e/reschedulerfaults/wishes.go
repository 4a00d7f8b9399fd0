package reschedulerfaults

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// illTaint is one that nobody tolerates.
const illTaint = "example.com/ill"

// addWishes gives those policies something to do that would have nothing otherwise.
func (w *writer) addWishes() {
	on := w.settings.policies
	if on.Has(v1alpha1.Separate) {
		for range 4 + w.rand.IntN(3) {
			w.askToLeave()
		}
	}
	if on.Has(v1alpha1.Repair) {
		for range 1 + w.rand.IntN(2) {
			w.taintNode()
		}
	}
	if w.settings.spreads() {
		for range 1 + w.rand.IntN(2) {
			w.addNodeAt(event{at: w.within(window / 2)})
		}
	}
}

// askToLeave asks that one pod to three leave their nodes, or another pod there.
func (w *writer) askToLeave() {
	var picks []int
	for range 1 + w.rand.IntN(3) {
		picks = append(picks, w.rand.IntN(1000))
	}
	fromPod := w.rand.IntN(2) == 0
	e := event{at: w.within(window * 2 / 3), what: "ask that pods leave their nodes", fault: separated}
	e.do = func(ctx context.Context, r *run) error {
		for _, pick := range picks {
			if err := r.askToLeave(ctx, pick, fromPod); err != nil {
				return err
			}
		}
		return nil
	}
	w.add(e)
}

// askToLeave asks so of the pod of a number, among those on nodes.
func (r *run) askToLeave(ctx context.Context, pick int, fromPod bool) error {
	pods := r.podsOnNodes()
	made := slices.DeleteFunc(slices.Clone(pods), func(p *corev1.Pod) bool { return controllerOf(p) == "" })
	if len(made) == 0 {
		return nil
	}
	pod := made[pick%len(made)]
	from := pod.Spec.NodeName
	if at := slices.IndexFunc(pods, func(p *corev1.Pod) bool { return p != pod && p.Spec.NodeName == from }); fromPod && at >= 0 {
		from = pods[at].Namespace + "/" + pods[at].Name
	}
	r.Note(fmt.Sprintf("ask that pod %s leaves %s", pod.Name, from))
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %q}}}`, v1alpha1.AnnotationSeparateFrom, from)
	_, err := r.lane.Client.CoreV1().Pods(workload.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return faultcampaign.UnlessDone(err, "annotate pod", pod.Name)
}

// podsOnNodes returns the pods that run, by name.
func (r *run) podsOnNodes() (pods []*corev1.Pod) {
	r.record.look(func(s *state) {
		for _, p := range s.pods {
			if p.leaves.IsZero() && !p.bound.IsZero() && isReady(p.object) && p.object.Namespace == workload.Namespace {
				pods = append(pods, p.object)
			}
		}
	})
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return pods
}

// taintNode has a node be such that no pod would come there any more, in half of the cases for a while only.
func (w *writer) taintNode() {
	some, heals, after := w.nodes[w.rand.IntN(len(w.nodes))].Name, w.rand.IntN(2) == 0, w.within(window/2)
	w.add(event{at: w.within(window / 2), what: "taint node " + some, fault: nodeTainted, do: func(ctx context.Context, r *run) error {
		if err := r.taint(ctx, some, true); err != nil || !heals {
			return err
		}
		faultcampaign.Pause(ctx, after)
		return r.taint(ctx, some, false)
	}})
}

// taint puts a taint on a node, or takes it off.
func (r *run) taint(ctx context.Context, name string, ill bool) error {
	r.Note(fmt.Sprintf("taint node %s: %t", name, ill))
	nodes := r.lane.Client.CoreV1().Nodes()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		node, err := nodes.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == illTaint })
		if ill {
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: illTaint, Effect: corev1.TaintEffectNoSchedule})
		}
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
	return faultcampaign.UnlessDone(err, "taint node", name)
}
