package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// inPhase sets the phase of a pod as the kubelet does.
func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func TestABudgetGrantsWhatTheAPIServerGrants(t *testing.T) {
	always, ifHealthy := policyv1.AlwaysAllow, policyv1.IfHealthyBudget
	budget := func(healthy, desired int32, policy *policyv1.UnhealthyPodEvictionPolicyType) *policyv1.PodDisruptionBudget {
		b := protecting("web", 0)
		b.Spec.UnhealthyPodEvictionPolicy = policy
		b.Status.CurrentHealthy, b.Status.DesiredHealthy, b.Status.ExpectedPods = healthy, desired, 3
		return b
	}
	granting := func(change func(*policyv1.PodDisruptionBudget)) *policyv1.PodDisruptionBudget {
		b := budget(3, 2, nil)
		b.Status.DisruptionsAllowed = 1
		change(b)
		return b
	}
	running := inPhase(corev1.PodRunning)
	moves, stays := []string{"web-1: n1 → n2", "p-1: at n1 after 1"}, []string{"default/p-1: " + ReasonProtected}
	for _, tt := range []struct {
		name   string
		budget *policyv1.PodDisruptionBudget
		pod    []func(*corev1.Pod)
		want   []string
	}{
		{"AlwaysAllow: a pod that is not ready moves", budget(1, 2, &always), []func(*corev1.Pod){running}, moves},
		{"AlwaysAllow: a pod that is ready stays", budget(2, 2, &always), []func(*corev1.Pod){running, ready}, stays},
		{"no policy: a pod that is not ready moves while enough are", budget(2, 2, nil), []func(*corev1.Pod){running}, moves},
		{"no policy: a pod that is not ready stays while too few are", budget(1, 2, nil), []func(*corev1.Pod){running}, stays},
		{"no policy: a pod that is not ready stays where none is desired", budget(0, 0, nil), []func(*corev1.Pod){running}, stays},
		{"no policy: a pod that is ready stays", budget(2, 2, nil), []func(*corev1.Pod){running, ready}, stays},
		{"no policy stands for IfHealthyBudget", budget(2, 2, &ifHealthy), []func(*corev1.Pod){running}, moves},
		{"IfHealthyBudget: too few are ready", budget(1, 2, &ifHealthy), []func(*corev1.Pod){running}, stays},
		{"a pod that does not run yet moves", budget(1, 2, nil), []func(*corev1.Pod){inPhase(corev1.PodPending)}, moves},
		{
			"a pod that is ready moves where one may", granting(func(*policyv1.PodDisruptionBudget) {}),
			[]func(*corev1.Pod){running, ready},
			moves,
		},
		{
			"nothing is granted by what is not known of a new selector yet",
			granting(func(b *policyv1.PodDisruptionBudget) { b.Generation = 2; b.Status.ObservedGeneration = 1 }),
			[]func(*corev1.Pod){running, ready},
			stays,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene()
			s.set(t, node("n1", "4"), node("n2", "4"), node("n3", "4"), tt.budget,
				pod("web-1", "n1", "2", tt.pod...), pod("web-2", "n2", "2", running, ready), pod("o-1", "n3", "2", unowned),
				pod("p-1", "", "4"))
			problem := s.problem(t)
			problem.Rules.AllowSingleReplica = true
			if diff := cmp.Diff(tt.want, said(problem.MakeRoom(s.groups()))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTwoBudgetsForbidTheEvictionOfAPodThatRunsAlone(t *testing.T) {
	s := newScene()
	second := protecting("web", 1)
	second.Name = "second"
	s.set(t, node("a", "4"), protecting("web", 1), second,
		pod("web-1", "a", "1", inPhase(corev1.PodRunning)), pod("web-2", "a", "1", inPhase(corev1.PodPending)))
	snap := s.cluster.Snapshot()
	several := SeveralBudgets(snap)
	got := map[string]bool{}
	for _, pod := range snap.NodeByName("a").Pods {
		got[pod.Name] = several(pod)
	}
	if diff := cmp.Diff(map[string]bool{"web-1": true, "web-2": false}, got); diff != "" {
		t.Errorf("who cannot be evicted for two budgets:\n%s", diff)
	}
}
