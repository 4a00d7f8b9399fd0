package loop

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

func TestTheLoopIsWokenByPodsThatAPlanWaitsFor(t *testing.T) {
	w := newWorld(t)
	owned := func(name string, by types.UID) *cluster.Pod {
		pod := w.pod(name, "1")
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: by, Controller: new(true)}}
		return cluster.NewPod(pod)
	}
	states := map[string]cluster.PodState{
		"the victim is gone":      {UID: "victim"},
		"a sibling":               {UID: "new", Pod: owned("new", "rs")},
		"who gets the room":       {UID: "big", Pod: owned("big", "other")},
		"the pod of a later step": {UID: "later"},
		"one of others":           {UID: "else", Pod: owned("else", "other")},
		"one without owner":       {UID: "bare", Pod: cluster.NewPod(w.pod("bare", "1"))},
	}
	plan := &v1alpha1.ReschedulingPlan{
		Spec: v1alpha1.ReschedulingPlanSpec{
			Steps: []v1alpha1.Step{
				{Pod: v1alpha1.PodReference{UID: "victim"}, Controller: v1alpha1.Controller{UID: "rs"}},
				{Pod: v1alpha1.PodReference{UID: "later"}, Controller: v1alpha1.Controller{UID: "later-rs"}},
			},
			Beneficiaries: []v1alpha1.Beneficiary{{PodReference: v1alpha1.PodReference{UID: "big"}}},
		},
		Status: v1alpha1.ReschedulingPlanStatus{
			Phase: v1alpha1.Executing, Steps: []v1alpha1.StepStatus{{Phase: v1alpha1.StepEvicted}, {Phase: v1alpha1.StepWaiting}},
		},
	}
	pending := plan.DeepCopy()
	pending.Status.Phase = v1alpha1.Pending
	for name, test := range map[string]struct {
		plans []*v1alpha1.ReschedulingPlan
		wakes []string
	}{
		"one that runs":      {[]*v1alpha1.ReschedulingPlan{pending, plan}, []string{"the victim is gone", "a sibling", "who gets the room"}},
		"one that waits":     {[]*v1alpha1.ReschedulingPlan{pending}, nil},
		"none":               {nil, nil},
		"not looked at them": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAlarm()
			if name != "not looked at them" {
				a.await(test.plans)
				if rung := len(a.bell) > 0; rung != (len(test.wakes) > 0) {
					t.Errorf("it has rung for what may have come about before: %t", rung)
				}
				a.await(test.plans)
				if len(test.wakes) > 0 {
					<-a.bell
				}
				if a.await(test.plans); len(a.bell) > 0 {
					t.Error("it rings though nobody else is waited for")
				}
			}
			woken := map[string]bool{}
			for what, state := range states {
				a.hear(state)
				select {
				case <-a.bell:
					woken[what] = true
				default:
				}
			}
			if len(woken) != len(test.wakes) {
				t.Errorf("woken by %v", woken)
			}
			for _, what := range test.wakes {
				if !woken[what] {
					t.Errorf("not woken by %s", what)
				}
			}
		})
	}
}
