package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// tolerant is a pod that no taint keeps off a node.
func tolerant(p *corev1.Pod) {
	p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func TestNothingMovesToANodeThatGoesOrIsNotReady(t *testing.T) {
	for name, test := range map[string]struct {
		target func(*corev1.Node)
		want   string
	}{
		"the autoscaler is about to remove it": {softlyTainted("ToBeDeletedByClusterAutoscaler"), ReasonNodeGoes},
		"the autoscaler may remove it":         {softlyTainted("DeletionCandidateOfClusterAutoscaler"), ReasonNodeGoes},
		"Karpenter is about to remove it":      {softlyTainted("karpenter.sh/disrupted"), ReasonNodeGoes},
		"an old Karpenter is":                  {softlyTainted("karpenter.sh/disruption"), ReasonNodeGoes},
		"it is being deleted": {
			func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: now()} }, ReasonNodeGoes,
		},
		"it is not ready":              {readiness(corev1.ConditionFalse), ReasonNodeNotReady},
		"nothing is heard of it":       {readiness(corev1.ConditionUnknown), ReasonNodeNotReady},
		"it is ready":                  {readiness(corev1.ConditionTrue), ""},
		"another taint prefers others": {softlyTainted("example.com/slow"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.set(t, node("a", "4"), node("b", "2", test.target), pod("x-1", "a", "2", tolerant), pod("p-1", "", "4", tolerant))
			plan := s.problem(t).MakeRoom(s.groups())
			if moves := len(plan.Steps) > 0; moves != (test.want == "") {
				t.Errorf("it moves %v: %t", plan.Steps, moves)
			}
			s.waiting = nil
			s.set(t, pod("q-1", "", "3", tolerant))
			unplaced := s.problem(t).MakeRoom(s.groups()).Unplaced
			want := []Refusal{{Name: "default/q-1", Reason: ReasonNoHomes, Details: []Detail{{Reason: test.want, Nodes: 1}}}}
			if diff := cmp.Diff(want, unplaced, cmpopts.IgnoreFields(Refusal{}, "Pods")); test.want != "" && diff != "" {
				t.Errorf("refusals (-want +got):\n%s", diff)
			}
		})
	}
}

func TestANodeThatIsNotToBeRemovedIsNotEmptied(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Node)
		want   string
	}{
		"it may be removed":                  {noted("example.com/note", "x"), ""},
		"the autoscaler is not to remove it": {noted("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"), ReasonNodeKept},
		"Karpenter is not to remove it":      {noted("karpenter.sh/do-not-disrupt", "true"), ReasonNodeKept},
		"it goes anyway":                     {softlyTainted("ToBeDeletedByClusterAutoscaler"), ReasonNodeGoes},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.set(t, node("a", "4", test.change), node("b", "8"), pod("x-1", "a", "1"), pod("y-1", "b", "4"), pod("y-2", "b", "1"))
			plan := s.problem(t).Coalesce(nil, 1)
			if empties := len(plan.Emptied) == 1; empties != (test.want == "") || empties && plan.Emptied[0].Name != "a" {
				t.Errorf("it empties %v", plan.Emptied)
			}
			for _, kept := range plan.Kept {
				if kept.Name == "a" && kept.Reason != test.want {
					t.Errorf("reason %q, want %q", kept.Reason, test.want)
				}
			}
			for _, removal := range s.problem(t).Removable(nil) {
				if removal.Node.Name == "a" && removal.Refusal.Reason != test.want {
					t.Errorf("it may be removed: %q, want %q", removal.Refusal.Reason, test.want)
				}
			}
		})
	}
}

func TestPodsStayOnANodeThatIsNotToBeDisrupted(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Node)
		want   string
	}{
		"by Karpenter":                 {noted("karpenter.sh/do-not-disrupt", "true"), ReasonNodeLeftAlone},
		"unless it is only to be kept": {noted("cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.set(t, node("a", "4", test.change), pod("x-1", "a", "1"))
			if got := s.protects(&Rules{}, "x-1"); got != test.want {
				t.Errorf("reason %q, want %q", got, test.want)
			}
		})
	}
}
