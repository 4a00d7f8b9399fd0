package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func TestPodsWaitThatSomebodyIsToPlace(t *testing.T) {
	gated := func(gates ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			for _, gate := range gates {
				p.Spec.SchedulingGates = append(p.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
			}
		}
	}
	s := newScene()
	for _, object := range []runtime.Object{
		node("a", "4"), pod("bound", "a", "1"), pod("waits", "", "1"), pod("of-us", "", "1", gated(v1alpha1.SchedulingGate)),
		pod("of-others", "", "1", gated("example.com/quota")), pod("of-both", "", "1", gated(v1alpha1.SchedulingGate, "example.com/quota")),
		pod("ends", "", "1", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(now())) }),
	} {
		if err := s.cluster.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, pod := range Waiting(s.cluster) {
		got = append(got, pod.Name)
	}
	if diff := cmp.Diff([]string{"of-us", "waits"}, got); diff != "" {
		t.Errorf("pods that wait (-want +got):\n%s", diff)
	}
}

func TestPendingPodsOfAGangAreOneGroup(t *testing.T) {
	s := newScene()
	podGroup := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": "h", "namespace": "default"}, "spec": map[string]any{"minMember": int64(2)},
	}}
	s.cluster.SetCustom(v1alpha1.ResourceOf(v1alpha1.GroupX), podGroup)
	of := func(podGroup string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Labels[v1alpha1.LabelX] = podGroup }
	}
	s.set(
		t, node("a", "4"), pod("g-9", "a", "1", inGang("g", 3)),
		pod("x-1", "", "1"), pod("g-1", "", "1", inGang("g", 3)), pod("g-2", "", "1", inGang("g", 3)), pod("g-3", "", "1", inGang("g", 3)),
		pod("h-1", "", "1", of("h")), pod("h-2", "", "1", of("h")), pod("h-3", "", "1", of("h")),
		pod("i-1", "", "1", of("i")), pod("i-2", "", "1", of("i")),
	)
	type group struct {
		Name          string
		Pods, AtLeast int
	}
	var got []group
	for _, g := range s.groups() {
		got = append(got, group{g.Name, len(g.Pods), g.AtLeast})
	}
	want := []group{
		{"default/g", 3, 2},   // of three, one is there
		{"default/h", 3, 2},   // as its PodGroup says
		{"default/i", 2, 2},   // nothing says how many
		{"default/x-1", 1, 1}, // a pod for itself
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}
