package reservation

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Room that a plan keeps for a later step is free once a pod of a step between has left.
func TestWhatIsKeptForLaterStepsIsInNobodysWay(t *testing.T) {
	w := newWorld(t)
	w.node("n2", "4")
	w.node("n3", "4")
	for name, node := range map[string]string{"leaves": "n2", "comes": "n3"} {
		pod := w.pod(name, "2")
		pod.Spec.NodeName = node
		w.set(pod)
	}
	step := func(name, from, to string) v1alpha1.Step {
		next := *w.plan.Spec.Steps[0].DeepCopy()
		next.Pod.Name, next.Pod.UID, next.Controller.UID, next.From, next.To = name, types.UID(name), types.UID("of-"+name), from, to
		return next
	}
	w.plan.Spec.Beneficiaries = nil
	w.plan.Spec.Steps = append(w.plan.Spec.Steps, step("leaves", "n2", "n3"), step("comes", "n3", "n2"))
	w.plan.Status.Phase = v1alpha1.Executing
	w.plan.Status.Steps = []v1alpha1.StepStatus{
		{Phase: v1alpha1.StepEvicted}, {Phase: v1alpha1.StepWaiting}, {Phase: v1alpha1.StepWaiting},
	}
	w.keeper.Set(w.plan)
	replacement := w.pod("small-2", "2")
	replacement.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true)},
	}
	w.set(replacement)
	profile := w.keeper.profiles.Of(corev1.DefaultSchedulerName).Profile
	pod := cluster.NewPod(replacement)
	places := w.keeper.Claim(pod, profile).Places
	if len(places) != 1 || places[0].Node != "n2" {
		t.Fatalf("room is kept for it: %+v", places)
	}
	if _, suits := places[0].Suits(pod, profile, w.cluster.Snapshot()); !suits {
		t.Error("it does not fit, because of what is kept for the last step")
	}
}
