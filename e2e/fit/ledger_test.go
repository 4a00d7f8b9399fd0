package fit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/fit"
)

// entry is a line of a ledger: a node, a pod, or a pod that is gone.
type entry struct {
	node *corev1.Node
	pod  *corev1.Pod
	gone types.UID
	// What is said of a pod.
	bound   bool
	lacking []string
}

func TestTheLedgerSaysWhetherThereWasRoomWhenAPodWasBound(t *testing.T) {
	for name, entries := range map[string][]entry{
		"pods fill a node exactly": {
			{node: offering("2", "3")},
			{pod: bound("a", "1"), bound: true},
			{pod: bound("b", "1"), bound: true},
		},
		"too much of a resource": {
			{node: offering("2", "3")},
			{pod: bound("a", "1500m"), bound: true},
			{pod: bound("b", "1"), bound: true, lacking: []string{"cpu"}},
		},
		"too many pods, and too much of a resource": {
			{node: offering("2", "1")},
			{pod: bound("a", "1"), bound: true},
			{pod: bound("b", "2"), bound: true, lacking: []string{"cpu", "pods"}},
		},
		"a pod that asks for nothing on a node with too much": {
			{node: offering("1", "3")},
			{pod: bound("a", "2"), bound: true, lacking: []string{"cpu"}},
			{pod: bound("b", "0"), bound: true},
		},
		"a host port twice": {
			{node: offering("2", "3")},
			{pod: bound("a", "1", onPort(80)), bound: true},
			{pod: bound("b", "1", onPort(80)), bound: true, lacking: []string{"host ports"}},
		},
		"a host port that two pods had is taken until both are gone": {
			{node: offering("2", "9")},
			{pod: bound("a", "0", onPort(80)), bound: true},
			{pod: bound("b", "0", onPort(80)), bound: true, lacking: []string{"host ports"}},
			{gone: "a"},
			{pod: bound("c", "0", onPort(80)), bound: true, lacking: []string{"host ports"}},
			{gone: "b"},
			{gone: "c"},
			{pod: bound("d", "0", onPort(80)), bound: true},
		},
		"a pod that was deleted makes room": {
			{node: offering("1", "1")},
			{pod: bound("a", "1"), bound: true},
			{gone: "a"},
			{pod: bound("b", "1"), bound: true},
		},
		"a pod that is being deleted makes none": {
			{node: offering("1", "3")},
			{pod: bound("a", "1"), bound: true},
			{pod: bound("a", "1", beingDeleted)},
			{pod: bound("b", "1"), bound: true, lacking: []string{"cpu"}},
		},
		"a pod that finished makes room once": {
			{node: offering("1", "1")},
			{pod: bound("a", "1"), bound: true},
			{pod: bound("a", "1", succeeded)},
			{gone: "a"},
			{pod: bound("b", "1"), bound: true},
			{pod: bound("c", "1"), bound: true, lacking: []string{"cpu", "pods"}},
		},
		"a pending pod holds nothing": {
			{node: offering("1", "1")},
			{pod: bound("a", "1", pending)},
			{gone: "a"},
			{pod: bound("b", "1"), bound: true},
		},
		"a pod is bound once": {
			{node: offering("1", "1")},
			{pod: bound("a", "1", pending)},
			{pod: bound("a", "1"), bound: true},
			{pod: bound("a", "1")},
		},
		"a node that returns has its pods on it": {
			{node: offering("2", "3")},
			{pod: bound("a", "1"), bound: true},
			{node: offering("2", "3")},
			{pod: bound("b", "2"), bound: true, lacking: []string{"cpu"}},
		},
		"a node that never was": {
			{pod: bound("a", "1"), bound: true, lacking: []string{"node"}},
			{node: offering("1", "3")},
			{pod: bound("b", "1"), bound: true, lacking: []string{"cpu"}},
			{gone: "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := fit.NewLedger()
			for i, e := range entries {
				switch {
				case e.node != nil:
					l.Node(e.node)
				case e.pod != nil:
					bound, lacking := l.Pod(e.pod)
					if bound != e.bound {
						t.Errorf("entry %d: bound is %t, want %t", i, bound, e.bound)
					}
					if diff := cmp.Diff(e.lacking, lacking, cmpopts.EquateEmpty()); diff != "" {
						t.Errorf("entry %d: what is lacking (-want +got):\n%s", i, diff)
					}
				default:
					l.Gone(e.gone)
				}
			}
		})
	}
}

const theNode = "node"

func offering(cpu, pods string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: theNode},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse(pods),
		}},
	}
}

// bound makes a pod on the node.
func bound(uid types.UID, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: string(uid), UID: uid},
		Spec: corev1.PodSpec{NodeName: theNode, Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func onPort(port int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port}} }
}

func pending(p *corev1.Pod)      { p.Spec.NodeName = "" }
func succeeded(p *corev1.Pod)    { p.Status.Phase = corev1.PodSucceeded }
func beingDeleted(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
