package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/workload"
)

// Labels of the pods that are created here.
const (
	measured = "example.com/measured"
	gangOf   = "example.com/gang"  // its gang, with any contender, or its group in a tree
	partOf   = "example.com/tree"  // its gang, for a pod of a tree
	extra    = "example.com/extra" // a gang starts without it
)

// gangs are several groups of pods of the same size that ask for room alone.
type gangs struct {
	count, size int
	// contended pods need a node each and come in turn, one of each gang. Others are small,
	// and come gang by gang.
	contended bool
	// mixed gangs differ, and each has nodes of its own: see mixedPods.
	mixed bool
	// racked pods go to nodes in racks, two to a node, and ask for nodes near each other with the contender [contender.Near].
	racked bool
}

const (
	coresOfNode      = 16 // of a node that contended pods are for
	coresOfContended = 15 // leaves room for neighbours
	coresOfRacked    = 8
)

// Racks of nodes, and blocks of racks. A gang of [contender.Near] has to be in one block, with each of its slices in a rack, and prefers
// one rack, which has no room for it.
const (
	rackKey, blockKey         = "example.com/rack", "example.com/block"
	nodesOfRack, nodesOfBlock = 18, 360
	nearSlices                = "32@" + rackKey + ",2@" + corev1.LabelHostname
)

// pods in the order in which they are to be created, as the contender wants them.
func (g gangs) pods(who contender.Contender) []*corev1.Pod {
	pods := g.members()
	for _, p := range pods {
		name := p.Labels["app"]
		p.Labels[measured], p.Labels[gangOf] = "", name
		switch who {
		case contender.Stock:
		case contender.Native, assisted, served:
			p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name}
		default:
			p.Labels[v1alpha1.LabelX] = name
		}
		if g.racked {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewQuantity(coresOfRacked, resource.DecimalSI)
		}
		if g.contended {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewQuantity(coresOfContended, resource.DecimalSI)
		}
	}
	if !g.contended && !g.mixed {
		slices.SortStableFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Labels[gangOf], b.Labels[gangOf]) })
	}
	return pods
}

// members are the pods with nothing of a contender.
func (g gangs) members() []*corev1.Pod {
	if g.mixed {
		return mixedPods(g.count)
	}
	return workload.Backlog(g.count*g.size, g.count)
}

// parts are the groups of each gang, and how many pods of each start together: one group, except in a tree.
func (g gangs) parts() map[string]map[string]int {
	parts := map[string]map[string]int{}
	for _, p := range g.members() {
		gang, group := p.Labels["app"], p.Labels["app"]
		if part := p.Labels[partOf]; part != "" {
			gang = part
		}
		if parts[gang] == nil {
			parts[gang] = map[string]int{}
		}
		if p.Labels[extra] == "" {
			parts[gang][group]++
		}
	}
	return parts
}

// groups are the PodGroups of the gangs as the contender wants them, a group of groups before what is in it, and none for a
// contender that knows no gangs.
func (g gangs) groups(who contender.Contender, native controlplane.NativeGangs) (groups []*unstructured.Unstructured) {
	var spec func(size int64) map[string]any
	var version schema.GroupVersion
	switch who {
	case contender.Stock:
		return nil
	case contender.Native, assisted, served:
		version = schema.GroupVersion{Group: "scheduling.k8s.io", Version: native.Version}
		spec = func(size int64) map[string]any {
			return map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": size}}}
		}
	default:
		version = v1alpha1.ResourceOf(v1alpha1.GroupX).GroupVersion()
		spec = func(size int64) map[string]any { return map[string]any{"minMember": size} }
	}
	parts := g.parts()
	for _, gang := range slices.Sorted(maps.Keys(parts)) {
		if len(parts[gang]) > 1 {
			groups = append(groups, newGroup(schema.GroupVersion{Group: version.Group, Version: "v1alpha3"}.WithKind("CompositePodGroup"), gang,
				inWorkload(map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minGroupCount": int64(len(parts[gang]))}}})))
		}
		for _, name := range slices.Sorted(maps.Keys(parts[gang])) {
			of := spec(int64(parts[gang][name]))
			if len(parts[gang]) > 1 {
				of = inWorkload(of)
				of["parentCompositePodGroupName"] = gang
			}
			group := newGroup(version.WithKind("PodGroup"), name, of)
			if who == contender.Near {
				group.SetAnnotations(map[string]string{
					v1alpha1.AnnotationRequiredTopology: blockKey, v1alpha1.AnnotationPreferredTopology: rackKey,
					v1alpha1.AnnotationTopologySlices: nearSlices,
				})
			}
			groups = append(groups, group)
		}
	}
	return groups
}

// inWorkload names a Workload, as the API asks of groups in a tree. Nobody reads it.
func inWorkload(spec map[string]any) map[string]any {
	spec["workloadRef"] = map[string]any{"workloadName": "workload", "templateName": "template"}
	return spec
}

func newGroup(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	group := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "namespace": workload.Namespace}, "spec": spec,
	}}
	group.SetGroupVersionKind(kind)
	return group
}

// neighbours are pods of no gang that fit anywhere, beside contended pods too. Their names
// begin with a prefix.
func neighbours(prefix string, count int) []*corev1.Pod {
	pods := workload.Backlog(count, 1)
	for _, p := range pods {
		p.Name = prefix + p.Name
		p.Labels[measured] = ""
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(1, resource.DecimalSI)
	}
	return pods
}

// rack labels nodes with where they stand.
func rack(nodes []*corev1.Node) {
	for i, n := range nodes {
		n.Labels[rackKey], n.Labels[blockKey] = fmt.Sprintf("rack-%d", i/nodesOfRack), fmt.Sprintf("block-%d", i/nodesOfBlock)
	}
}

// level makes nodes alike, for contended and racked pods.
func level(nodes []*corev1.Node) {
	for _, n := range nodes {
		n.Spec.Taints = nil
		offer := corev1.ResourceList{
			corev1.ResourceCPU:    *resource.NewQuantity(coresOfNode, resource.DecimalSI),
			corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}
		n.Status.Capacity, n.Status.Allocatable = offer, offer
	}
}
