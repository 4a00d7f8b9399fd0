package extender_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
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
	n.Helper()
	spec := in(parent, map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minGroupCount": int64(minGroupCount)}}})
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

// bears creates a PodGroup in a group of groups, and all its pods.
func (n *native) bears(parent, name string, pods int, cpu string) {
	n.Helper()
	group := n.group(name, pods, "")
	in(parent, group.Object["spec"].(map[string]any))
	n.Create(group)
	for i := range pods {
		n.createPods(n.member(name, i, cpu))
	}
}

// A tree starts with the groups that have room, whichever kube-scheduler tries first, and the others come later.
func TestATreeOfKubernetesOwnGroupsStarts(t *testing.T) {
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
