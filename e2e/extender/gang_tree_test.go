package extender_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// newTrees takes a cluster whose API server knows Kubernetes' own groups of groups as well.
func newTrees(t *testing.T, nodes ...*corev1.Node) (*native, *server) {
	t.Helper()
	release, err := binaries.Chosen()
	if err != nil {
		t.Fatal(err)
	}
	if release == binaries.Release136 {
		t.Skip("SKIP: Kubernetes 1.36 has no CompositePodGroups")
	}
	return newNativeOf(t, controlplane.NativeGangsOf(release).WithTrees(), true, nodes...)
}

// grows creates a group of groups that starts with minGroupCount of them.
func (n *native) grows(name, parent string, minGroupCount int) {
	n.growsNear(name, parent, "", minGroupCount)
}

// growsNear is grows for groups that share a domain of a level.
func (n *native) growsNear(name, parent, level string, minGroupCount int) {
	n.Helper()
	gang := map[string]any{"minGroupCount": int64(minGroupCount)}
	spec := in(parent, near(level, map[string]any{"schedulingPolicy": map[string]any{"gang": gang}}))
	n.Create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup", "metadata": map[string]any{"name": name}, "spec": spec,
	}})
}

// in puts a group in a group of groups, unless that is "". The API asks for a Workload to be named, which nobody reads.
func in(parent string, spec map[string]any) map[string]any {
	spec["workloadRef"] = map[string]any{"workloadName": "workload", "templateName": "template"}
	if parent != "" {
		spec["parentCompositePodGroupName"] = parent
	}
	return spec
}

// near has a group ask for one domain of a level, unless that is "".
func near(level string, spec map[string]any) map[string]any {
	if level != "" {
		spec["schedulingConstraints"] = map[string]any{"topology": []any{map[string]any{"key": level}}}
	}
	return spec
}

// bears creates a PodGroup in a group of groups, and all its pods.
func (n *native) bears(parent, name string, pods int, cpu string) {
	n.bearsNear(parent, name, "", pods, cpu)
}

// bearsNear is bears for pods that go to one domain of a level.
func (n *native) bearsNear(parent, name, level string, pods int, cpu string) {
	n.Helper()
	group := n.group(name, pods, "")
	in(parent, near(level, group.Object["spec"].(map[string]any)))
	n.Create(group)
	for i := range pods {
		n.createPods(n.member(name, i, cpu))
	}
}

// A tree starts with the groups that have room, whichever kube-scheduler tries first, and the others come later.
func TestATreeOfKubernetesOwnGroupsStarts(t *testing.T) {
	lab.Long(t)
	for name, itself := range map[string]bool{"muster starts it": false, "kube-scheduler does so itself": true} {
		t.Run(name, func(t *testing.T) {
			n, s := newTrees(t, workload.NewNodes("node", 2, "4")...)
			var w *witness
			if itself {
				w = n.startsItself(s)
			} else {
				n.Schedule(s.schedulerConfig(nil))
				w = s.watch()
			}
			n.grows("root", "", 2)
			n.grows("branch", "root", 1)
			n.bears("root", "large", 2, "8")
			n.bears("branch", "small", 2, "2")
			n.bears("root", "single", 1, "4")
			w.settles(exactly(map[string]int{"": 3}))
			n.Must(s.explains("small-0", "2 of the groups of root start together"))
			n.createNodes(workload.NewNodes("more", 2, "8")...)
			w.settles(exactly(map[string]int{"": 5}))
		})
	}
}

// No group of a tree starts while there is no room for enough of them.
func TestATreeOfKubernetesOwnGroupsWaitsForRoom(t *testing.T) {
	lab.Long(t)
	n, s := newTrees(t, workload.NewNode("node", "4"))
	n.Schedule(s.schedulerConfig(nil))
	w := s.watch()
	n.grows("root", "", 2)
	n.bears("root", "first", 2, "2")
	n.bears("root", "second", 2, "2")
	w.settles(exactly(map[string]int{}))
	n.createNodes(workload.NewNode("more", "4"))
	w.settles(exactly(map[string]int{"": 4}))
	n.Must(n.Client.CoreV1().Pods(workload.Namespace).Delete(t.Context(), "first-1", metav1.DeleteOptions{}))
	n.createPods(n.member("first", 2, "2"))
	w.settles(exactly(map[string]int{"": 5}))
}

// Racks of a block for two groups of a tree, which asks for one block, and each of them for a rack. Block a has room for one of them
// alone, and so has each of the racks outside.
func TestGroupsOfATreeStartInOneBlock(t *testing.T) {
	lab.Long(t)
	in := func(block, rack string) func(*corev1.Node) {
		return func(node *corev1.Node) {
			node.Labels["example.com/block"], node.Labels["example.com/rack"] = block, rack
		}
	}
	n, s := newTrees(t,
		workload.NewNode("a-x", "6", in("a", "x")), workload.NewNode("a-y", "4", in("a", "y")),
		workload.NewNode("b-x", "6", in("b", "x")), workload.NewNode("b-y", "4", in("b", "y")),
	)
	n.Schedule(s.schedulerConfig(nil))
	w := s.watch()
	n.growsNear("root", "", "example.com/block", 2)
	for _, name := range []string{"first", "second"} {
		n.bearsNear("root", name, "example.com/rack", 3, "2")
	}
	w.settles(exactly(map[string]int{}))
	n.createNodes(workload.NewNode("b-y-2", "2", in("b", "y")))
	w.settles(exactly(map[string]int{"": 6}))
	racks := map[string]map[string]bool{}
	for name, pod := range n.Pods() {
		group, _, _ := strings.Cut(name, "-")
		if racks[group] == nil {
			racks[group] = map[string]bool{}
		}
		racks[group][pod.Spec.NodeName[:len("b-x")]] = true
	}
	first, second := racks["first"], racks["second"]
	if len(first) != 1 || len(second) != 1 || first["b-x"] == second["b-x"] || first["b-y"] == second["b-y"] {
		t.Errorf("the groups are in racks %v, want one of b each", racks)
	}
}
