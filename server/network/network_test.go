package network

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

func newCluster() *cluster.Cluster {
	return cluster.New(cluster.Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour,
	})
}

// set adds nodes that are listed as "name key=value key=value".
func set(t *testing.T, c *cluster.Cluster, nodes ...string) {
	t.Helper()
	for _, line := range nodes {
		name, rest, _ := strings.Cut(line, " ")
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		for label := range strings.FieldsSeq(rest) {
			key, value, _ := strings.Cut(label, "=")
			node.Labels[key] = value
		}
		if err := c.Set(node); err != nil {
			t.Fatal(err)
		}
	}
}

// list adds a Topology with these keys.
func list(t *testing.T, c *cluster.Cluster, name string, keys ...string) {
	t.Helper()
	var levels []any
	for _, key := range keys {
		levels = append(levels, map[string]any{"nodeLabel": key})
	}
	for resource, handler := range c.HandledTopologies() {
		if resource.Group != v1alpha1.GroupKueue {
			continue
		}
		object, err := handler.Trim(&unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name}, "spec": map[string]any{"levels": levels},
		}})
		if err != nil {
			t.Fatal(err)
		}
		handler.Set(object.(metav1.Object))
	}
}

// gangs are listed as "namespace/name KEY,KEY".
func gangs(lines ...string) (all []core.Summary) {
	for _, line := range lines {
		name, levels, _ := strings.Cut(line, " ")
		all = append(all, core.Summary{Name: name, Levels: strings.FieldsFunc(levels, func(r rune) bool { return r == ',' })})
	}
	return all
}

// told writes networks as "block block,rack; row".
func told(networks []Network) string {
	var all []string
	for _, n := range networks {
		var levels []string
		for _, level := range n {
			levels = append(levels, level.String())
		}
		all = append(all, strings.Join(levels, " "))
	}
	return strings.Join(all, "; ")
}

func TestLevelsInUseAreThoseOfTopologiesAndGangs(t *testing.T) {
	type topologies map[string][]string
	for name, test := range map[string]struct {
		topologies topologies
		gangs      []string
		want       string
	}{
		"nobody names any": {gangs: []string{"a/g "}},
		"gangs do":         {gangs: []string{"a/g block,rack"}, want: "block block,rack"},
		"a Topology does, whether a gang does or not": {
			topologies: topologies{"t": {"block", "rack", "kubernetes.io/hostname"}}, want: "block block,rack",
		},
		"a Topology lists a level above": {
			topologies: topologies{"t": {"zone", "block", "rack", "row"}}, gangs: []string{"a/g rack,row"},
			want: "zone,block zone,block,rack zone,block,rack,row",
		},
		"Topologies that do not agree count for none": {
			topologies: topologies{"t": {"zone", "rack"}, "u": {"block", "rack"}}, gangs: []string{"a/g rack"},
			want: "block block,rack; zone zone,rack; rack",
		},
		"a level that no node is labelled by is left out, and what is below it": {
			gangs: []string{"a/g block,shelf", "a/h shelf,rack"}, want: "block",
		},
		"what most namespaces ask for comes first": {
			gangs: []string{"a/g block", "a/h block", "b/g rack", "c/g rack"}, want: "rack; block",
		},
		"what another one has is not told twice": {
			gangs: []string{"a/g block", "b/g block", "a/h block,rack", "c/g rack"}, want: "rack; block block,rack",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			set(t, c, "n zone=z block=b rack=r row=o kubernetes.io/hostname=n")
			for name, keys := range test.topologies {
				list(t, c, name, keys...)
			}
			networks, more := InUse(c.Snapshot(), gangs(test.gangs...))
			if got := told(networks); got != test.want || more != 0 {
				t.Errorf("%q and %d more, want %q", got, more, test.want)
			}
		})
	}
}

// A tenant may name each order of all labels that nodes have.
func TestANamespaceThatAsksForManyLevelsCrowdsOutNoOther(t *testing.T) {
	c := newCluster()
	node := "n rack=r"
	var asked []string
	for i := range 30 {
		node += fmt.Sprintf(" a%02d=x", i)
		asked = append(asked, fmt.Sprintf("greedy/g%d a%02d", i, i))
	}
	set(t, c, node)
	networks, more := InUse(c.Snapshot(), gangs(append(asked, "modest/g rack")...))
	if len(networks) != mostNetworks || more != 31-mostNetworks {
		t.Errorf("%d networks and %d more, want %d and %d", len(networks), more, mostNetworks, 31-mostNetworks)
	}
	if got := told(networks); !strings.HasPrefix(got, "a00; rack; a01; ") {
		t.Errorf("told are %s", got)
	}
}

// network is two blocks with racks of one name. Of x/r a node has a pod; x/s is whole, with a node that is away; y/r is whole; and y/s
// is away.
func network(t *testing.T) *cluster.Cluster {
	c := newCluster()
	set(t, c, "x1 block=x rack=r", "x2 block=x rack=r", "x3 block=x rack=s", "x4 block=x rack=s", "y1 block=y rack=r", "y2 block=y rack=r",
		"y3 block=y rack=r", "y4 block=y rack=s", "without block=y", "out rack=r")
	for name, edit := range map[string]func(*corev1.Node){
		"x4": func(node *corev1.Node) { node.Spec.Unschedulable = true },
		"y4": func(node *corev1.Node) {
			node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown}}
		},
	} {
		object := c.Snapshot().NodeByName(name).DeepCopy()
		edit(object)
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range []struct{ node, kind string }{{"x1", "ReplicaSet"}, {"x4", "ReplicaSet"}, {"y1", "DaemonSet"}} {
		if err := c.Set(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: pod.node, Namespace: "default", UID: types.UID(pod.node),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: pod.kind, Name: "o", UID: "o", Controller: new(true)}},
			},
			Spec: corev1.PodSpec{NodeName: pod.node},
		}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestWholeDomainsHaveReadyNodesThatAreAllEmpty(t *testing.T) {
	c := network(t)
	levels := []Level{{"block"}, {"block", "rack"}, {"rack"}}
	want := []Wholeness{
		{Domains: 2, Whole: 1, MostEmpty: 4}, // y
		{Domains: 4, Whole: 2, MostEmpty: 3}, // x/s and y/r
		{Domains: 2, Whole: 1, MostEmpty: 5}, // s
	}
	if diff := cmp.Diff(want, Measure(c.Snapshot().Nodes(), levels)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheMetricsHaveASeriesForEachLevel(t *testing.T) {
	c := network(t)
	asked := gangs("a/g block,rack")
	collector := NewCollector(c, func() []core.Summary { return asked })
	const want = "# HELP muster_topology_whole_domains Racks and the like whose ready nodes have no pods but those of DaemonSets, " +
		"by the keys of the labels that tell them apart, the uppermost level first." + `
# TYPE muster_topology_whole_domains gauge
muster_topology_whole_domains{levels="block"} 1
muster_topology_whole_domains{levels="block,rack"} 2
`
	if err := testutil.CollectAndCompare(collector, strings.NewReader(want), "muster_topology_whole_domains"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]int{"muster_topology_domains": 2, "muster_topology_most_empty_nodes": 2} {
		if got := testutil.CollectAndCount(collector, name); got != want {
			t.Errorf("%d series of %s, want %d", got, name, want)
		}
	}
	asked = nil
	if got := testutil.CollectAndCount(collector); got != 0 {
		t.Errorf("%d series while no gang asks for anything, want none", got)
	}
}
