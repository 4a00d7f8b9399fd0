package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/servertest"
)

func TestTheTopologyPageShowsWhoIsInEachRack(t *testing.T) {
	b := newBench(t, benchOptions{})
	for name, at := range map[string][2]string{"a": {"x", "r"}, "b": {"x", "r"}, "c": {"y", "r"}, "d": {"y", "s"}, "e": {"", ""}} {
		b.Node(name, "4", func(node *corev1.Node) {
			if at[0] != "" {
				node.Labels = map[string]string{"example.com/block": at[0], "example.com/rack": at[1]}
			}
			node.Spec.Unschedulable = name == "d"
		})
	}
	for name, edit := range map[string]func(*corev1.Pod){
		"member": func(pod *corev1.Pod) { pod.Labels = map[string]string{v1alpha1.LabelX: "g"} },
		"agent": func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "d", Controller: new(true)}}
		},
	} {
		pod := servertest.Pod(name, "1")
		pod.Spec.NodeName = map[string]string{"member": "a", "agent": "c"}[name]
		edit(pod)
		if err := b.Cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
	}
	_, page := b.Get("/debug/topology?levels=example.com/block,example.com/rack")
	var got [][]string
	for _, row := range strings.Split(strings.TrimSpace(page), "\n")[3:] {
		got = append(got, strings.Fields(row))
	}
	want := [][]string{
		{"(none)", "1", "1", "0", "0", "0%", "0%", "-", "-"},
		{"(none)/(none)", "1", "1", "0", "0", "0%", "0%", "-", "-"},
		{"x", "2", "1", "0", "1", "12%", "0%", "-", "default/g"},
		{"x/r", "2", "1", "0", "1", "12%", "0%", "-", "default/g"},
		{"y", "1", "1", "1", "1", "25%", "0%", "-", "-"},
		{"y/r", "1", "1", "0", "1", "25%", "0%", "-", "-"},
		{"y/s", "0", "0", "1", "0", "-", "-", "-", "-"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, page)
	}
}

func TestTheTopologyPageSaysWhichLevelsItCannotShow(t *testing.T) {
	b := newBench(t, benchOptions{})
	for levels, want := range map[string]string{
		"a,b,c,d": "levels: no more than 3 keys of labels",
		"a,-":     `levels: "-" is no key of a label`,
	} {
		if status, page := b.Get("/debug/topology?levels=" + levels); status != http.StatusBadRequest || !strings.Contains(page, want) {
			t.Errorf("%s is answered with %d: %s", levels, status, page)
		}
	}
	if _, page := b.Get("/debug/topology"); !strings.Contains(page, "no gang asks for nodes near each other") {
		t.Errorf("without levels: %s", page)
	}
}
