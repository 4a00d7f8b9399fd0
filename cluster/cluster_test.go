package cluster

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func pdb(meta metav1.ObjectMeta) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{ObjectMeta: meta}
}

func csiNode(name string, drivers ...string) *storagev1.CSINode {
	object := &storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, driver := range drivers {
		object.Spec.Drivers = append(object.Spec.Drivers, storagev1.CSINodeDriver{Name: driver})
	}
	return object
}

func podNames(n *Node) []string {
	names := map[string]bool{}
	for _, pod := range n.Pods {
		names[pod.Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func TestASnapshotIsTakenOnce(t *testing.T) {
	c := newCluster(t)
	if first, second := c.Snapshot(), c.Snapshot(); first != second {
		t.Error("two snapshots of one state")
	}
	set(t, c, podObject("pending"))
	before := c.Snapshot()
	if before.Generation != 0 {
		t.Error("a pod without a node is a change")
	}
	set(t, c, nodeObject("a"))
	if after := c.Snapshot(); after == before || after.Generation != 1 || before.NodeCount() != 0 {
		t.Errorf("after a node came: generation %d, and %d nodes in the old snapshot", after.Generation, before.NodeCount())
	}
}

func TestNodesAreFoundByNameAndIndex(t *testing.T) {
	c := newCluster(t)
	const count = 3*chunkSize + 1
	for i := range count {
		set(t, c, nodeObject(fmt.Sprintf("node-%03d", i)))
	}
	snap := c.Snapshot()
	if snap.NodeCount() != count || snap.IndexEnd() != count {
		t.Errorf("%d nodes, indexes to %d, want %d", snap.NodeCount(), snap.IndexEnd(), count)
	}
	next := int32(0)
	for node := range snap.Nodes() {
		if node.Index != next || snap.Node(next) != node || snap.NodeByName(node.Name) != node ||
			snap.NodeNames.Index([]byte(node.Name)) != next {
			t.Fatalf("%s is not where its index %d says", node.Name, node.Index)
		}
		if string(snap.NodeNames.Quoted(node.Index)) != `"`+node.Name+`"` {
			t.Fatalf("%s is quoted as %s", node.Name, snap.NodeNames.Quoted(node.Index))
		}
		next++
	}
	if next != count {
		t.Errorf("walked over %d nodes, want %d", next, count)
	}
	if snap.Node(-1) != nil || snap.Node(count) != nil || snap.NodeByName("none") != nil || snap.NodeNames.Index([]byte("none")) != -1 {
		t.Error("found a node that is not there")
	}
	for range snap.Nodes() {
		break
	}
}

func TestAnIndexIsReusedAfterItsNodeIsGone(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), nodeObject("b"), nodeObject("c"))
	before := c.Snapshot()
	remove(t, c, nodeObject("b"))
	without := c.Snapshot()
	if without.NodeByName("b") != nil || without.Node(1) != nil || without.NodeCount() != 2 {
		t.Error("b is still there")
	}
	set(t, c, nodeObject("d"), nodeObject("e"))
	after := c.Snapshot()
	if d, e := after.NodeByName("d").Index, after.NodeByName("e").Index; d != 1 || e != 3 {
		t.Errorf("d and e stand under %d and %d, want 1 and 3", d, e)
	}
	if before.Node(1).Name != "b" || before.NodeByName("d") != nil {
		t.Error("the older snapshot changed")
	}
	changes, _ := after.Since(before.Generation)
	want := []Change{
		{Generation: 4, Node: 1, Aspects: AspectNode},
		{Generation: 5, Node: 1, Aspects: AspectNode},
		{Generation: 6, Node: 3, Aspects: AspectNode},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	remove(t, c, nodeObject("none"))
	if c.Snapshot() != after {
		t.Error("to remove a node that is not there is a change")
	}
}

func TestPodsMayComeBeforeTheirNode(t *testing.T) {
	c := newCluster(t)
	set(
		t, c, podObject("p", onNode("a"), hostPort(80)), podObject("q", onNode("a")), podObject("gone", onNode("a")),
		podObject("elsewhere", onNode("b")),
	)
	remove(t, c, podObject("gone"))
	set(t, c, nodeObject("a"))
	a := c.Snapshot().NodeByName("a")
	if diff := cmp.Diff([]string{"p", "q"}, podNames(a)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if a.Requested.MilliCPU != 200 || len(a.Ports) != 1 {
		t.Errorf("requested %+v, ports %v", a.Requested, a.Ports)
	}
	set(t, c, podObject("p", onNode("a"), inPhase(corev1.PodSucceeded)))
	if diff := cmp.Diff([]string{"q"}, podNames(c.Snapshot().NodeByName("a"))); diff != "" {
		t.Errorf("pods after one finished (-want +got):\n%s", diff)
	}
}

func TestPodsOutliveTheirNode(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("stays", onNode("a")), podObject("goes", onNode("a")), podObject("moves", onNode("a")))
	remove(t, c, nodeObject("a"))
	remove(t, c, podObject("goes"))
	set(t, c, podObject("comes", onNode("a")), podObject("moves", onNode("b")), nodeObject("b"), nodeObject("a"))
	snap := c.Snapshot()
	if diff := cmp.Diff([]string{"comes", "stays"}, podNames(snap.NodeByName("a"))); diff != "" {
		t.Errorf("pods on the node that came back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"moves"}, podNames(snap.NodeByName("b"))); diff != "" {
		t.Errorf("pods on the other node (-want +got):\n%s", diff)
	}
	if len(c.ledger.orphans) != 0 {
		t.Errorf("orphans are left: %v", c.ledger.orphans)
	}
}

func TestACSINodeMayComeBeforeItsNode(t *testing.T) {
	c := newCluster(t)
	set(t, c, csiNode("a", "early"), nodeObject("a"))
	drivers := func() string {
		csi := c.Snapshot().NodeByName("a").CSI
		if csi == nil {
			return ""
		}
		return csi.Spec.Drivers[0].Name
	}
	if got := drivers(); got != "early" {
		t.Errorf("the driver is %q, want the one that came before the node", got)
	}
	before := c.Snapshot().Generation
	set(t, c, csiNode("a", "late"))
	if got := drivers(); got != "late" {
		t.Errorf("the driver is %q, want the new one", got)
	}
	remove(t, c, nodeObject("a"))
	set(t, c, nodeObject("a"))
	if got := drivers(); got != "late" {
		t.Errorf("the driver is %q after the node came back, want the one that it had", got)
	}
	remove(t, c, csiNode("a"))
	if got := drivers(); got != "" {
		t.Errorf("the driver is %q after the CSINode went", got)
	}
	var aspects []Aspect
	changes, _ := c.Snapshot().Since(before)
	for _, change := range changes {
		aspects = append(aspects, change.Aspects)
	}
	if diff := cmp.Diff([]Aspect{AspectCSI, AspectNode, AspectNode, AspectCSI}, aspects); diff != "" {
		t.Errorf("aspects (-want +got):\n%s", diff)
	}
}

func TestAPendingPodIsKnownUntilItHasANode(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("p"), podObject("q"))
	if pod := c.PendingPod("pod-p"); pod == nil || pod.Requests.MilliCPU != 100 {
		t.Errorf("the pending pod is %v", pod)
	}
	set(t, c, podObject("p", onNode("a")))
	remove(t, c, podObject("q"))
	if c.PendingPod("pod-p") != nil || c.PendingPod("pod-q") != nil {
		t.Error("a bound or deleted pod is pending")
	}
}
