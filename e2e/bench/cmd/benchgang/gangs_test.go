package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
)

func TestContendersGetTheSamePodsInGroupsOfTheirOwnKind(t *testing.T) {
	g := gangs{count: 2, size: 2}
	for who, want := range map[contender.Contender]struct {
		native, label, apiVersion string
	}{
		contender.Stock:  {},
		contender.Native: {native: "app-1", apiVersion: "scheduling.k8s.io/v1beta1"},
		withMuster:       {label: "app-1", apiVersion: "scheduling.x-k8s.io/v1alpha1"},
	} {
		t.Run(string(who), func(t *testing.T) {
			last := g.pods(who)[3]
			if last.Labels[gangOf] != "app-1" {
				t.Errorf("the last pod is of %s", last.Labels[gangOf])
			}
			native := ""
			if last.Spec.SchedulingGroup != nil {
				native = *last.Spec.SchedulingGroup.PodGroupName
			}
			if native != want.native || last.Labels[v1alpha1.LabelX] != want.label {
				t.Errorf("a native group %q and the label %q", native, last.Labels[v1alpha1.LabelX])
			}
			groups := g.groups(who, controlplane.NativeGangsOf(binaries.Newest))
			if want.apiVersion == "" {
				if len(groups) > 0 {
					t.Errorf("there are groups: %v", groups)
				}
				return
			}
			if len(groups) != 2 || groups[1].GetName() != "app-1" || groups[1].GetAPIVersion() != want.apiVersion {
				t.Errorf("the groups are %v", groups)
			}
		})
	}
}

func TestATreeIsWholeWithEnoughOfEachOfItsGroups(t *testing.T) {
	g := gangs{count: 2, mixed: true}
	w := newWitness(mixedNodes(), g.parts())
	bind := func(which func(*corev1.Pod) bool) {
		for i, p := range g.pods(contender.Native) {
			if which(p) {
				p.UID = types.UID(p.Name)
				p.Spec.NodeName = fmt.Sprintf("pool-01-%d", i%nodesOfMixed)
				w.observe(nil, p)
			}
		}
	}
	bind(func(p *corev1.Pod) bool { return p.Labels[partOf] == "mixed-01" && p.Labels[extra] != "" })
	if w.partial() != 1 {
		t.Error("a tree with nothing but more of its pods has not started in part")
	}
	bind(func(p *corev1.Pod) bool { return p.Labels[partOf] == "mixed-01" && p.Labels[extra] == "" })
	if started := w.started(); len(started) != 1 || started["mixed-01"].IsZero() || w.partial() != 0 {
		t.Errorf("started are %v, %d in part", started, w.partial())
	}
	var kinds []string
	for _, group := range g.groups(contender.Native, controlplane.NativeGangsOf(binaries.Newest)) {
		kinds = append(kinds, group.GetKind()+" "+group.GetName())
	}
	want := []string{"PodGroup mixed-00", "CompositePodGroup mixed-01", "PodGroup mixed-01-a", "PodGroup mixed-01-b"}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

func TestContendedGangsComeInTurn(t *testing.T) {
	for name, test := range map[string]struct {
		gangs gangs
		want  []string
	}{
		"gangs with room come one after the other": {gangs{count: 2, size: 2}, []string{"app-0", "app-0", "app-1", "app-1"}},
		"others come in turn":                      {gangs{count: 2, size: 2, contended: true}, []string{"app-0", "app-1", "app-0", "app-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var order []string
			for _, p := range test.gangs.pods(withMuster) {
				order = append(order, p.Labels[gangOf])
			}
			if diff := cmp.Diff(test.want, order); diff != "" {
				t.Errorf("gangs of the pods (-want +got):\n%s", diff)
			}
		})
	}
}
