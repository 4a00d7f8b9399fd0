package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
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

// A gang knows the racks of two blocks apart where a Topology lists the block, and so does the page.
func TestARackIsShownByThePathThatATopologyGivesIt(t *testing.T) {
	b := newBench(t, benchOptions{gangs: true})
	for name, block := range map[string]string{"a": "x", "b": "y"} {
		b.Node(name, "4", func(node *corev1.Node) {
			node.Labels = map[string]string{"example.com/block": block, "example.com/rack": "r", "example.com/row": "o"}
		})
	}
	pod := servertest.Pod("member", "1")
	pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
	pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "1", v1alpha1.AnnotationRequiredTopology: "example.com/rack"}
	b.Pending(pod)
	rows := func(page string) (titles, domains []string) {
		for line := range strings.SplitSeq(page, "\n") {
			if _, by, is := strings.Cut(line, ": domains by "); is {
				titles = append(titles, by)
			} else if fields := strings.Fields(line); len(fields) > 8 && fields[0] != "DOMAIN" {
				domains = append(domains, fields[0])
			}
		}
		return titles, domains
	}
	network := []string{"example.com/block", "example.com/rack"}
	for _, test := range []struct {
		topology []string
		path     string
		titles   []string
		domains  []string
	}{
		{nil, "/debug/topology", []string{"example.com/rack"}, []string{"r"}},
		{network, "/debug/topology", []string{"example.com/block, then example.com/rack"}, []string{"x", "x/r", "y", "y/r"}},
		{network, "/debug/topology?levels=example.com/rack", []string{"example.com/rack (in example.com/block)"}, []string{"x/r", "y/r"}},
		{network, "/debug/topology?levels=example.com/row", []string{"example.com/row"}, []string{"o"}},
	} {
		for resource, handler := range b.Cluster.HandledTopologies() {
			if resource.Group == v1alpha1.GroupKueue && test.topology != nil {
				topology := &cluster.Topology{ObjectMeta: metav1.ObjectMeta{Name: "network"}}
				topology.SetGroupVersionKind(resource.GroupVersion().WithKind("Topology"))
				for _, key := range test.topology {
					topology.Levels = append(topology.Levels, v1alpha1.TopologyLevel{Key: key})
				}
				handler.Set(topology)
			}
		}
		_, page := b.Get(test.path)
		titles, domains := rows(page)
		if diff := cmp.Diff([][]string{test.titles, test.domains}, [][]string{titles, domains}); diff != "" {
			t.Errorf("%s with Topology %v (-want +got):\n%s\n%s", test.path, test.topology, diff, page)
		}
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
