package console

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/server/network"
	"muster.dev/muster/server/servertest"
)

func TestTheNodesPageShowsWhatCountsOnEachNode(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	b.Node("b", "8")
	pod := servertest.Pod("p", "3")
	pod.Spec.NodeName = "b"
	if err := b.Cluster.Set(pod); err != nil {
		t.Fatal(err)
	}
	b.Cluster.SetUsage("b", &cluster.Usage{Updated: time.Unix(1, 0), Node: cluster.Resources{MilliCPU: 2000, Memory: 32 << 30}})
	_, page := b.Get("/debug/nodes")
	rows := strings.Split(strings.TrimSpace(page), "\n")
	if len(rows) != 5 || !strings.HasSuffix(rows[0], ", 2 nodes") {
		t.Fatalf("want a heading and two nodes:\n%s", strings.Join(rows, "\n"))
	}
	want := [][]string{
		{"a", "0/110", "0m/4000m", "0%", "0Mi/65536Mi", "0%", "-", "-", "-"},
		{"b", "1/110", "3000m/8000m", "38%", "0Mi/65536Mi", "0%", "25%", "50%", "-"},
	}
	got := [][]string{strings.Fields(rows[3]), strings.Fields(rows[4])}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheNodesPageHasTheLabelsThatGangsAskFor(t *testing.T) {
	b := newBench(t, benchOptions{gangs: true})
	b.Node("a", "4", func(node *corev1.Node) { node.Labels = map[string]string{"block": "x", "rack": "r", "other": "o"} })
	b.Node("b", "4", func(node *corev1.Node) { node.Labels = map[string]string{"rack": "r"} })
	b.Node("c", "4")
	look := func() (networks []network.Network, labels map[string]map[string]string) {
		var page nodesPage
		_, body := b.Get("/debug/nodes?format=json")
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			t.Fatal(err)
		}
		labels = map[string]map[string]string{}
		for _, node := range page.Nodes {
			labels[node.Node] = node.Labels
		}
		return page.Networks, labels
	}
	if networks, labels := look(); networks != nil || labels["a"] != nil {
		t.Errorf("no gang asks for anything, and the page has the networks %v and the labels %v", networks, labels["a"])
	}
	pod := servertest.Pod("member", "1")
	pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
	pod.Annotations = map[string]string{
		v1alpha1.AnnotationMinMember: "1", v1alpha1.AnnotationRequiredTopology: "block", v1alpha1.AnnotationPreferredTopology: "rack",
	}
	b.Pending(pod)
	networks, labels := look()
	if diff := cmp.Diff([]network.Network{{{"block"}, {"block", "rack"}}}, networks); diff != "" {
		t.Errorf("networks (-want +got):\n%s", diff)
	}
	want := map[string]map[string]string{"a": {"block": "x", "rack": "r"}, "b": {"rack": "r"}, "c": nil}
	if diff := cmp.Diff(want, labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestRacksAndPoolsAreWhatNodesAreLabelledWith(t *testing.T) {
	b := newBench(t, benchOptions{})
	for name, labels := range map[string]map[string]string{
		"a": {"topology.k8s.aws/network-node-layer-3": "nn-1", "eks.amazonaws.com/nodegroup": "batch", corev1.LabelTopologyZone: "z"},
		"b": {"topology.kubernetes.io/rack": "r", "topology.k8s.aws/network-node-layer-3": "nn-1"},
	} {
		b.Node(name, "4", func(node *corev1.Node) { node.Labels = labels })
	}
	var page nodesPage
	_, body := b.Get("/debug/nodes?format=json")
	if err := json.Unmarshal([]byte(body), &page); err != nil {
		t.Fatal(err)
	}
	got := map[string][3]string{}
	for _, node := range page.Nodes {
		got[node.Node] = [3]string{node.Zone, node.Rack, node.Pool}
	}
	if diff := cmp.Diff(map[string][3]string{"a": {"z", "nn-1", "batch"}, "b": {"", "r", ""}}, got); diff != "" {
		t.Errorf("zone, rack and pool (-want +got):\n%s", diff)
	}
}
