package cluster

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

// TestNodesAreFoundByTraitAndImage changes nodes and pods at random, and keeps a snapshot from before.
func TestNodesAreFoundByTraitAndImage(t *testing.T) {
	outer := t
	seeded.Check(t, func(t *rapid.T) {
		c := newCluster(outer)
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		const nodes = 150 // of several chunks
		for i := range nodes {
			must(c.Set(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i)}}))
		}
		compare := func(snap *Snapshot) {
			for node := range snap.Nodes() {
				for i, pod := range node.Pods {
					if len(node.Labelled) != len(node.Pods) || node.Labelled[i] != pod.Labelled {
						t.Fatalf("node %s has %d pods and %d labels; see pod %s", node.Name, len(node.Pods), len(node.Labelled), pod.Name)
					}
				}
			}
			for trait := range Trait(traits) {
				var want []int32
				for node := range snap.Nodes() {
					if trait == TraitAffine && len(node.Affine) > 0 || trait == TraitAvoided && len(node.Spec.Taints) > 0 {
						want = append(want, node.Index)
					}
				}
				if diff := cmp.Diff(want, snap.Having(trait)); diff != "" {
					t.Fatalf("trait %d (-want +got):\n%s", trait, diff)
				}
			}
			for _, images := range [][]string{nil, {"a"}, {"b", "c"}, {"none"}} {
				var want []int32
				for node := range snap.Nodes() {
					if slices.ContainsFunc(images, holds(node)) {
						want = append(want, node.Index)
					}
				}
				if diff := cmp.Diff(want, snap.Holding(images...)); diff != "" {
					t.Fatalf("images %q (-want +got):\n%s", images, diff)
				}
			}
		}
		old := c.Snapshot()
		name := func() string { return fmt.Sprint("node-", rapid.IntRange(0, nodes).Draw(t, "node")) }
		pod := func() *corev1.Pod {
			number := rapid.IntRange(0, 9).Draw(t, "pod")
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprint("pod-", number), Namespace: "default", UID: types.UID(fmt.Sprint(number)),
					Labels: map[string]string{"number": fmt.Sprint(number)},
				},
				Spec: corev1.PodSpec{NodeName: name()},
			}
			if rapid.Bool().Draw(t, "affine") {
				pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}},
				}}
			}
			return pod
		}
		t.Repeat(map[string]func(*rapid.T){
			"a node": func(*rapid.T) {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name()}}
				if rapid.Bool().Draw(t, "avoided") {
					node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectPreferNoSchedule}}
				}
				for _, image := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2).Draw(t, "images") {
					node.Status.Images = append(node.Status.Images, corev1.ContainerImage{Names: []string{image, image + "@sha256:0"}})
				}
				must(c.Set(node))
			},
			"a node goes": func(*rapid.T) { must(c.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name()}})) },
			"a pod":       func(*rapid.T) { must(c.Set(pod())) },
			"a pod goes":  func(*rapid.T) { must(c.Delete(pod())) },
			"":            func(*rapid.T) { compare(c.Snapshot()); compare(old) },
		})
	})
}

func holds(node *Node) func(image string) bool {
	return func(image string) bool {
		return slices.ContainsFunc(node.Status.Images, func(held corev1.ContainerImage) bool { return slices.Contains(held.Names, image) })
	}
}
