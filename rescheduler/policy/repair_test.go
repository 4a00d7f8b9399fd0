package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/config"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
)

func tainted(n *corev1.Node) {
	n.Spec.Taints = []corev1.Taint{{Key: "maintenance", Effect: corev1.TaintEffectNoSchedule}}
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func inZone(zone string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = zone }
}

func onlyOn(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: name} }
}

func spread(p *corev1.Pod) {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels},
	}}
}

// apartFrom wants a pod to be on a node without pods of another app.
func apartFrom(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
			}}},
		}
	}
}

func important(p *corev1.Pod) { p.Spec.Priority = new(int32(5)) }

func TestRepair(t *testing.T) {
	a, b, c := node("a"), node("b"), node("c")
	checks := config.UsualRepairs()
	duplicates := config.RepairPolicy{Checks: []string{config.CheckDuplicates}}
	tests := []struct {
		name    string
		objects []runtime.Object
		config  config.RepairPolicy
		want    []string
		why     string
	}{
		{
			name: "pods are where they may be", objects: []runtime.Object{a, b, pod("x-1", "a"), pod("x-2", "a")},
			why: "there are no pods that are where they should not be",
		},
		{
			name: "a taint that was put on a node later", objects: []runtime.Object{node("a", tainted), b, pod("x-1", "a")},
			want: []string{"x-1: a → b (a would not take it now: node(s) had untolerated taint(s))"},
		},
		{
			name: "a label that was taken off a node", objects: []runtime.Object{a, b, pod("x-1", "a", onlyOn("b"))},
			want: []string{"x-1: a → b (a would not take it now: node(s) didn't match Pod's node affinity/selector)"},
		},
		{
			name: "no node will do", objects: []runtime.Object{a, b, pod("x-1", "a", onlyOn("d"))},
			want: []string{"shop/x-1: no node could take the pod, whatever pods were moved"},
			why:  "no plan for the 1 pods that are where they should not be; of shop/x-1: no node could take the pod, whatever pods were moved",
		},
		{
			name: "a skew that is too large: the pods in excess go", objects: []runtime.Object{
				node("a", inZone("1")),
				node("b", inZone("2")),
				pod("x-1", "a", spread),
				pod("x-2", "a", spread),
				pod("x-3", "a", spread),
				pod("x-4", "a", spread),
			},
			want: []string{
				"x-1: a → b (a would not take it now: node(s) didn't match pod topology spread constraints)",
				"x-2: a → b (a would not take it now: node(s) didn't match pod topology spread constraints)",
			},
		},
		{
			name:    "of two in each other's way the less important one goes",
			objects: []runtime.Object{a, b, pod("x-1", "a", apartFrom("y"), important), pod("y-1", "a")},
			want:    []string{"y-1: a → b (a would not take it now: node(s) didn't satisfy existing pods anti-affinity rules)"},
		},
		{
			name:    "of two in each other's way one stays, though its node is cordoned",
			objects: []runtime.Object{node("a", cordoned), b, pod("x-1", "a", apartFrom("y"), important), pod("y-1", "a")},
			want:    []string{"y-1: a → b (a would not take it now: node(s) didn't satisfy existing pods anti-affinity rules)"},
		},
		{
			name: "of equal ones the younger one goes",
			objects: []runtime.Object{a, b, pod("x-1", "a", apartFrom("y")), pod("y-1", "a", func(p *corev1.Pod) {
				p.CreationTimestamp = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
			})},
			want: []string{"y-1: a → b (a would not take it now: node(s) didn't satisfy existing pods anti-affinity rules)"},
		},
		{
			name:    "more on a node than there is room for is not looked at",
			objects: []runtime.Object{a, b, pod("x-1", "a"), pod("x-2", "a"), pod("y-1", "a"), pod("y-2", "a"), pod("z-1", "a")},
			why:     "there are no pods that are where they should not be",
		},
		{
			name: "unless that is asked for: the pods in excess go", config: config.RepairPolicy{Checks: []string{config.NodeResourcesFit}},
			objects: []runtime.Object{a, b, pod("x-1", "a"), pod("x-2", "a"), pod("y-1", "a"), pod("y-2", "a"), pod("z-1", "a")},
			want:    []string{"x-1: a → b (a would not take it now: Insufficient cpu)"},
		},
		{
			name:    "duplicates, when asked for: one stays",
			config:  duplicates,
			objects: []runtime.Object{a, b, c, pod("x-1", "a"), pod("x-2", "a"), pod("x-3", "a")},
			want:    []string{"x-1: a → b (a has more than one pod of ReplicaSet x)", "x-2: a → c (a has more than one pod of ReplicaSet x)"},
		},
		{
			name:    "duplicates go to nodes without one only",
			config:  duplicates,
			objects: []runtime.Object{a, b, pod("x-1", "a"), pod("x-2", "a"), pod("x-3", "b")},
			want: []string{
				"shop/x-1: no node could take the pod, whatever pods were moved", "shop/x-2: no node could take the pod, whatever pods were moved",
			},
			why: "no plan for the 2 pods that are where they should not be; of shop/x-1: no node could take the pod, whatever pods were moved",
		},
		{
			name:   "one that is leaving is no duplicate",
			config: duplicates,
			objects: []runtime.Object{a, b, pod("x-1", "a"), pod("x-2", "a", func(p *corev1.Pod) {
				p.DeletionTimestamp = &metav1.Time{}
			})},
			why: "there are no pods that are where they should not be",
		},
		{
			name:    "members of a gang may be together",
			config:  duplicates,
			objects: []runtime.Object{a, b, pod("x-1", "a", inGang), pod("x-2", "a", inGang)},
			why:     "there are no pods that are where they should not be",
		},
		{
			name:    "pods of a group of Kubernetes' own may be together",
			config:  duplicates,
			objects: []runtime.Object{a, b, pod("x-1", "a", ofKubernetesOwnGroup), pod("x-2", "a", ofKubernetesOwnGroup)},
			why:     "there are no pods that are where they should not be",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if len(test.config.Checks) == 0 {
				test.config.Checks = checks
			}
			plan, why := repair(&test.config)(situation(t, test.objects...))
			if diff := cmp.Diff(test.want, said(plan)); diff != "" {
				t.Errorf("the plan (-want +got):\n%s", diff)
			}
			if why != test.why {
				t.Errorf("why: %q, want %q", why, test.why)
			}
		})
	}
}

func inGang(p *corev1.Pod) {
	p.Labels[schedulingv1alpha1.LabelMuster] = "g"
	p.Annotations[schedulingv1alpha1.AnnotationMinMember] = "2"
}
