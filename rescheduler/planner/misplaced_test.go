package planner

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
)

func TestMisplaced(t *testing.T) {
	onlyOn := func(name string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelHostname: name} }
	}
	s := newScene()
	s.set(
		t,
		node("a", "4", tainted),
		node("b", "1", inZone("1")),
		node("c", "4", inZone("2")),
		pod("tolerates-1", "a", "1", func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}} }),
		pod("tainted-1", "a", "1"),
		pod("d-1", "a", "1", ownedBy("DaemonSet")),
		pod("other-1", "a", "1", func(p *corev1.Pod) { p.Spec.SchedulerName = "other" }),
		pod("selects-1", "b", "1", onlyOn("c")),
		pod("over-1", "b", "1"),
		pod("apart-1", "c", "1", apartBy(corev1.LabelHostname)),
		pod("apart-2", "c", "1", apartBy(corev1.LabelHostname)),
		pod("unowned-1", "c", "1", onlyOn("b"), unowned),
	)
	said := func(by ...string) (lines []string) {
		for _, m := range s.problem(t).Misplaced(sets.New(by...)) {
			lines = append(lines, fmt.Sprintf("%s on %s: %s", m.Pod.Name, m.Node.Name, m.Objection.Reason))
		}
		return lines
	}
	for _, test := range []struct {
		by   string
		want []string
	}{
		{config.TaintToleration, []string{"tainted-1 on a: node(s) had untolerated taint(s)"}},
		{config.NodeAffinity, []string{"selects-1 on b: node(s) didn't match Pod's node affinity/selector"}},
		{config.NodeResourcesFit, []string{"selects-1 on b: Insufficient cpu", "over-1 on b: Insufficient cpu"}},
		{
			config.InterPodAffinity,
			[]string{"apart-1 on c: node(s) didn't match pod anti-affinity rules", "apart-2 on c: node(s) didn't match pod anti-affinity rules"},
		},
		{config.PodTopologySpread, nil},
	} {
		if diff := cmp.Diff(test.want, said(test.by)); diff != "" {
			t.Errorf("by %s (-want +got):\n%s", test.by, diff)
		}
	}
}
