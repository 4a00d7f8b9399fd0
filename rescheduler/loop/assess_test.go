package loop

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// budget is a PodDisruptionBudget of all pods that allows nothing at present.
func budget(expected, healthy int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{
			Name:      "all",
			Namespace: "default",
		},
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}},
		Status: policyv1.PodDisruptionBudgetStatus{ExpectedPods: expected, DesiredHealthy: healthy},
	}
}

func TestOnlyMoreNodesHelpAPodThatNoMoveGivesRoomToInTheLongRun(t *testing.T) {
	big := func(w *world) { w.set(w.pod("big", "4")) }
	for name, test := range map[string]struct {
		change func(*world)
		want   []string
	}{
		"it is larger than any node": {func(w *world) { w.set(w.pod("huge", "8")) }, []string{"huge NoNodeFits"}},
		"what is in the way may never be moved": {
			func(w *world) { big(w); w.rules.ExceptNamespaces.Insert("default") }, []string{"big TooLittleMovable"},
		},
		"a PodDisruptionBudget never allows it":   {func(w *world) { big(w); w.set(budget(1, 1)) }, []string{"big TooLittleMovable"}},
		"a PodDisruptionBudget will allow it":     {func(w *world) { big(w); w.set(budget(2, 1)) }, nil},
		"what is in the way cools down":           {func(w *world) { big(w); w.before(v1alpha1.Succeeded, 0) }, nil},
		"what is in the way has not run for long": {func(w *world) { big(w); w.rules.MinAge = time.Hour }, nil},
		"a plan may not move as much": {func(w *world) {
			big(w)
			w.config.Budgets.Selected = []config.SelectedBudget{{Selector: "!x", MaxDown: new(intstr.FromInt32(0))}}
		}, nil},
		"a plan is carried out": {func(w *world) { w.set(w.pod("huge", "8")); w.before(v1alpha1.Executing, 0) }, nil},
		"a move helps":          {big, nil},
		"it has room":           {func(w *world) { w.set(w.pod("tiny", "1")) }, nil},
		"nobody looks for room, and nobody says it is full": {
			func(w *world) { w.set(w.pod("huge", "8")); w.config.MakeRoom.Enabled = false }, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.change(w)
			w.clock.Step(time.Minute)
			w.assess(t.Context())
			if diff := cmp.Diff(test.want, w.needs); diff != "" {
				t.Errorf("told of (-want +got):\n%s", diff)
			}
		})
	}
}
