package planner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

func TestRules(t *testing.T) {
	started := func(ago time.Duration) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: now().Add(-ago)} }
	}
	claim := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}
	for _, test := range []struct {
		name  string
		pod   *corev1.Pod
		rules Rules
		want  string
	}{
		{name: "a plain pod may be moved", pod: pod("x-1", "a", "1")},
		{name: "a mirror pod", pod: pod("x-1", "a", "1", annotated(corev1.MirrorPodAnnotationKey, "")), want: ReasonMirrorPod},
		{name: "a static pod", pod: pod("x-1", "a", "1", ownedBy("Node")), want: ReasonMirrorPod},
		{name: "a pod of a DaemonSet", pod: pod("x-1", "a", "1", ownedBy("DaemonSet")), want: ReasonDaemonSetPod},
		{
			name: "a pod that takes centuries to end, more seconds than nanoseconds can count",
			pod: pod("x-1", "a", "1", func(p *corev1.Pod) {
				p.Spec.TerminationGracePeriodSeconds = new(int64(10_000_000_000))
			}), rules: Rules{MaxGrace: time.Hour}, want: ReasonGrace,
		},
		{
			name: "a pod that goes anyway", pod: pod("x-1", "a", "1", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }),
			want: ReasonTerminating,
		},
		{name: "a pod that is assumed", pod: pod("x-1", "", "1"), want: ReasonNotBound},
		{name: "a critical pod", pod: pod("x-1", "a", "1", priority(2_000_000_000)), want: ReasonSystemCritical},
		{name: "a pod without a controller", pod: pod("x-1", "a", "1", unowned), want: ReasonNoController},
		{
			name: "a pod that says it is not safe",
			pod:  pod("x-1", "a", "1", annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "false")), want: ReasonNotSafe,
		},
		{
			name: "a pod that Karpenter is to leave alone", pod: pod("x-1", "a", "1", annotated("karpenter.sh/do-not-disrupt", "true")),
			want: ReasonNotSafe,
		},
		{
			name: "a pod that Karpenter is to leave alone for a time", pod: pod("x-1", "a", "1", annotated("karpenter.sh/do-not-disrupt", "4h")),
			want: ReasonNotSafe,
		},
		{name: "a pod that Karpenter may disrupt", pod: pod("x-1", "a", "1", annotated("karpenter.sh/do-not-disrupt", "false"))},
		{name: "a pod of kube-system", pod: pod("x-1", "a", "1", inNamespace("kube-system")), want: ReasonKubeSystem},
		{
			name: "a pod of kube-system that may be moved", pod: pod("x-1", "a", "1", inNamespace("kube-system")),
			rules: Rules{AllowKubeSystem: true},
		},
		{
			name: "a pod of kube-system as it is asked for", pod: pod("x-1", "a", "1", inNamespace("kube-system")),
			rules: Rules{Namespaces: sets.New("kube-system")},
		},
		{
			name: "a pod of kube-system that says it may be moved",
			pod:  pod("x-1", "a", "1", inNamespace("kube-system"), annotated("rescheduling.muster.dev/movable", "true")),
		},
		{name: "a pod that says it is safe", pod: pod("x-1", "a", "1", annotated("cluster-autoscaler.kubernetes.io/safe-to-evict", "true"))},
		{
			name: "a pod that prefers to stay",
			pod:  pod("x-1", "a", "1", annotated("descheduler.alpha.kubernetes.io/prefer-no-eviction", "true")), want: ReasonNotSafe,
		},
		{
			name: "a pod whose topology Kueue was told", want: ReasonPinnedByKueue,
			pod: pod(
				"x-1", "a", "1", annotated("kueue.x-k8s.io/podset-required-topology", "rack"), annotated("rescheduling.muster.dev/movable", "true"),
			),
		},
		{
			name: "a pod that Kueue has placed unasked", want: ReasonPinnedByKueue,
			pod: pod("x-1", "a", "1", annotated("kueue.x-k8s.io/podset-unconstrained-topology", "true")),
		},
		{
			name: "a pod with an emptyDir", pod: pod("x-1", "a", "1", with(corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})),
			want: ReasonLocalStorage,
		},
		{
			name: "a pod with a hostPath", pod: pod("x-1", "a", "1", with(corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}})),
			want: ReasonLocalStorage,
		},
		{
			name: "a pod whose local storage may be lost", pod: pod("x-1", "a", "1", with(corev1.VolumeSource{
				HostPath: &corev1.HostPathVolumeSource{},
			})),
			rules: Rules{AllowLocalStorage: true},
		},
		{name: "a pod with a claim", pod: pod("x-1", "a", "1", with(claim)), want: ReasonClaims},
		{name: "a pod whose claims may move", pod: pod("x-1", "a", "1", with(claim)), rules: Rules{AllowClaims: true}},
		{
			name: "a priority that is protected", pod: pod("x-1", "a", "1", priority(7)), rules: Rules{BelowPriority: new(int32(7))},
			want: ReasonPriority,
		},
		{name: "a priority that is not", pod: pod("x-1", "a", "1", priority(6)), rules: Rules{BelowPriority: new(int32(7))}},
		{
			name: "labels that are not selected", pod: pod("x-1", "a", "1"),
			rules: Rules{Selector: labels.SelectorFromSet(labels.Set{"app": "y"})}, want: ReasonSelector,
		},
		{name: "another namespace", pod: pod("x-1", "a", "1"), rules: Rules{Namespaces: sets.New("other")}, want: ReasonNamespace},
		{
			name: "a namespace that is left out", pod: pod("x-1", "a", "1"), rules: Rules{ExceptNamespaces: sets.New("default")},
			want: ReasonNamespace,
		},
		{name: "another node", pod: pod("x-1", "a", "1"), rules: Rules{Nodes: labels.SelectorFromSet(labels.Set{"pool": "y"})}, want: ReasonNode},
		{
			name: "a pod that has just started", pod: pod("x-1", "a", "1", started(time.Minute)), rules: Rules{MinAge: time.Hour},
			want: ReasonYoung,
		},
		{name: "a pod that has not started", pod: pod("x-1", "a", "1"), rules: Rules{MinAge: time.Hour}, want: ReasonYoung},
		{name: "a pod that has run for long enough", pod: pod("x-1", "a", "1", started(time.Hour)), rules: Rules{MinAge: time.Hour}},
		{name: "a controller with few pods", pod: pod("x-1", "a", "1"), rules: Rules{MinReplicas: 3}, want: ReasonFewReplicas},
		{name: "a pod that takes as long to end as a plan lasts", pod: pod("x-1", "a", "1"), rules: Rules{MaxGrace: 30 * time.Second}},
		{name: "a pod that takes longer to end", pod: pod("x-1", "a", "1"), rules: Rules{MaxGrace: 29 * time.Second}, want: ReasonGrace},
		{name: "a controller with enough pods", pod: pod("x-1", "a", "1"), rules: Rules{MinReplicas: 2}},
		{
			name: "a reason of the caller", pod: pod("x-1", "a", "1"), want: "it moved just now",
			rules: Rules{Unless: func(*cluster.Pod, *cluster.Node) string { return "it moved just now" }},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newScene()
			s.set(t, node("a", "4"))
			at := s.cluster.Snapshot().NodeByName("a")
			s.set(t, pod("x-2", "a", "1"), pod("x-3", "a", "1"))
			if got := test.rules.Protects(cluster.NewPod(test.pod), at, WorkloadsOf(s.cluster.Snapshot()), now()); got != test.want {
				t.Errorf("reason %q, want %q", got, test.want)
			}
		})
	}
}

func TestPodsThatGoDoNotCountForTheirController(t *testing.T) {
	s := newScene()
	s.set(t, node("a", "4"), pod("x-1", "a", "1"), pod("x-2", "a", "1", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }))
	staying := s.cluster.Snapshot().NodeByName("a").Pods[0]
	if got := WorkloadsOf(s.cluster.Snapshot()).of(staying).pods; got != 1 {
		t.Errorf("there are %d pods of the controller, want 1", got)
	}
}

func TestWhatStandsInTheWayIsCounted(t *testing.T) {
	s := newScene()
	s.set(
		t, node("a", "4"), node("b", "2"), node("c", "4"),
		pod("x-1", "a", "1", ownedBy("DaemonSet")), pod("y-1", "c", "1", unowned), pod("z-1", "c", "1", unowned), pod("p-1", "", "4"),
	)
	want := []Refusal{{Name: "default/p-1", Reason: ReasonProtected, Details: []Detail{
		{Reason: "Insufficient cpu", Nodes: 1}, {Reason: ReasonNoController, Pods: 2}, {Reason: ReasonDaemonSetPod, Pods: 1},
	}}}
	if diff := cmp.Diff(want, s.problem(t).MakeRoom(s.groups()).Unplaced, cmpopts.IgnoreFields(Refusal{}, "Pods")); diff != "" {
		t.Errorf("refusals (-want +got):\n%s", diff)
	}
}

func TestAPlanSaysWhy(t *testing.T) {
	s := newScene()
	s.set(
		t, node("a", "8"), node("b", "4"), node("c", "2"),
		pod("x-1", "a", "4"), pod("z-1", "a", "2", unowned), pod("y-1", "b", "2"), pod("p-1", "", "6"),
	)
	plan := s.problem(t).MakeRoom(s.groups())
	var got []string
	for _, step := range plan.Steps {
		got = append(got, step.Why)
	}
	for _, place := range plan.Placements {
		got = append(got, place.Why)
	}
	want := []string{
		"makes room on b for default/x-1, which has to move there",
		"makes room on a for default/p-1",
		"a has room once 2 pods have moved",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("words (-want +got):\n%s", diff)
	}
	if plan.Cost != 2*plainCost || plan.Placements[0].Cost != plan.Cost {
		t.Errorf("the plan costs %d and the place %d, want %d", plan.Cost, plan.Placements[0].Cost, 2*plainCost)
	}
}
