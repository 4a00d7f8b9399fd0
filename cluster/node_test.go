package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestAChangeOfANodeNamesItsAspects(t *testing.T) {
	tests := []struct {
		name   string
		change func(*corev1.Node)
		want   Aspect
	}{
		{"allocatable", func(n *corev1.Node) { n.Status.Allocatable["cpu"] = resource.MustParse("9") }, AspectAllocatable},
		{"labels", func(n *corev1.Node) { n.Labels["zone"] = "b" }, AspectLabels},
		{"taints", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "k", Effect: "NoSchedule"}} }, AspectTaints},
		{"unschedulable", func(n *corev1.Node) { n.Spec.Unschedulable = true }, AspectUnschedulable},
		{"conditions", func(n *corev1.Node) { n.Status.Conditions[0].Status = "False" }, AspectConditions},
		{"features", func(n *corev1.Node) { n.Status.DeclaredFeatures = []string{"A"} }, AspectFeatures},
		{"images", func(n *corev1.Node) { n.Status.Images = []corev1.ContainerImage{{SizeBytes: 1}} }, AspectImages},
		{"several at once", func(n *corev1.Node) { n.Spec.Unschedulable, n.Labels["zone"] = true, "b" }, AspectLabels | AspectUnschedulable},
		{"annotations", func(n *corev1.Node) { n.Annotations = map[string]string{"a": "b"} }, AspectAnnotations},
		{"the provider has no aspect", func(n *corev1.Node) { n.Spec.ProviderID = "kind://a" }, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ready := func(n *corev1.Node) {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			}
			c := newCluster(t)
			set(t, c, nodeObject("a", ready), podObject("p", onNode("a"), hostPort(80)))
			before := c.Snapshot()
			changed := nodeObject("a", ready, test.change)
			set(t, c, changed)
			after := c.Snapshot()
			want := []Change{{Generation: after.Generation, Aspects: test.want}}
			changes, _ := after.Since(before.Generation)
			if diff := cmp.Diff(want, changes); diff != "" {
				t.Errorf("journal (-want +got):\n%s", diff)
			}
			node := after.NodeByName("a")
			if node.Node != changed || before.NodeByName("a").Node == changed {
				t.Error("the new snapshot must have the new object, the old one must not")
			}
			if cpu := changed.Status.Allocatable.Cpu().MilliValue(); node.Allocatable.MilliCPU != cpu {
				t.Errorf("allocatable says %dm, the object %dm", node.Allocatable.MilliCPU, cpu)
			}
			if len(node.Pods) != 1 || len(node.Ports) != 1 || node.Requested.MilliCPU != 100 {
				t.Errorf("the pods of the node were lost: %+v", node)
			}
		})
	}
}

func TestAHeartbeatIsNoChange(t *testing.T) {
	beat := func(version string, at int64) *corev1.Node {
		return trimmed(t, nodeObject("a", func(n *corev1.Node) {
			n.ResourceVersion = version
			n.Status.Conditions = []corev1.NodeCondition{
				{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(time.Unix(at, 0))},
			}
		}))
	}
	c := newCluster(t)
	set(t, c, beat("1", 100))
	before := c.Snapshot()
	set(t, c, beat("2", 200))
	if c.Snapshot() != before {
		t.Error("there is a new snapshot")
	}
}

func TestAChangeOfAPodNamesTheAspectsOfItsNode(t *testing.T) {
	was := []func(*corev1.Pod){onNode("a")}
	tests := []struct {
		name        string
		first, then []func(*corev1.Pod) // nil is no pod
		want        Aspect
	}{
		{"a pod comes", nil, was, AspectRequested | AspectPods},
		{"a pod with a host port comes", nil, []func(*corev1.Pod){onNode("a"), hostPort(80)}, AspectRequested | AspectPods | AspectPorts},
		{"a pod finishes", was, []func(*corev1.Pod){onNode("a"), inPhase(corev1.PodSucceeded)}, AspectRequested | AspectPods},
		{
			"a pod with a host port fails",
			[]func(*corev1.Pod){onNode("a"), hostPort(80)},
			[]func(*corev1.Pod){inPhase(corev1.PodFailed)},
			AspectRequested | AspectPods | AspectPorts,
		},
		{"a pod runs", was, []func(*corev1.Pod){onNode("a"), inPhase(corev1.PodRunning)}, 0},
		{"labels", was, []func(*corev1.Pod){onNode("a"), func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} }}, AspectPods},
		{"deletion begins", was, []func(*corev1.Pod){onNode("a"), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }}, AspectPods},
		{"a resize", was, []func(*corev1.Pod){onNode("a"), asking("cpu", "1", "memory", "1Gi")}, AspectRequested},
		{
			"a request for zero where there was none",
			[]func(*corev1.Pod){onNode("a"), asking()},
			[]func(*corev1.Pod){onNode("a"), asking("cpu", "0")},
			AspectRequested,
		},
		{"ports", was, []func(*corev1.Pod){onNode("a"), hostPort(80)}, AspectPorts},
		{"limits", was, []func(*corev1.Pod){onNode("a"), limitedTo("cpu", "2")}, AspectPodStates},
		{
			"an annotation", was,
			[]func(*corev1.Pod){onNode("a"), func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }},
			AspectPodStates,
		},
		{"priority", was, []func(*corev1.Pod){onNode("a"), ofPriority(5)}, AspectPodStates},
		{"another priority", []func(*corev1.Pod){onNode("a"), ofPriority(5)}, []func(*corev1.Pod){onNode("a"), ofPriority(6)}, AspectPodStates},
		{"the same priority", []func(*corev1.Pod){onNode("a"), ofPriority(5)}, []func(*corev1.Pod){onNode("a"), ofPriority(5)}, 0},
		{
			"quality of service", was,
			[]func(*corev1.Pod){onNode("a"), func(p *corev1.Pod) { p.Status.QOSClass = corev1.PodQOSBurstable }},
			AspectPodStates,
		},
		{"it is scheduled", was, []func(*corev1.Pod){onNode("a"), became(corev1.PodScheduled, 10)}, AspectPodStates},
		{
			"it is initialized",
			[]func(*corev1.Pod){onNode("a"), became(corev1.PodScheduled, 10)},
			[]func(*corev1.Pod){onNode("a"), became(corev1.PodScheduled, 10), became(corev1.PodInitialized, 20)},
			AspectPodStates,
		},
		{
			"it is initialized again, after a restart",
			[]func(*corev1.Pod){onNode("a"), became(corev1.PodInitialized, 20)},
			[]func(*corev1.Pod){onNode("a"), became(corev1.PodInitialized, 30)},
			AspectPodStates,
		},
		{"it is ready", was, []func(*corev1.Pod){onNode("a"), became(corev1.PodReady, 10)}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			set(t, c, nodeObject("a"))
			if test.first != nil {
				set(t, c, podObject("p", test.first...))
			}
			before := c.Snapshot()
			set(t, c, podObject("p", test.then...))
			after := c.Snapshot()
			changes, _ := after.Since(before.Generation)
			if diff := cmp.Diff([]Change{{Generation: after.Generation, Aspects: test.want}}, changes); diff != "" {
				t.Errorf("journal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAskingWhatIfLeavesNoTrace(t *testing.T) {
	pod := func(name string, port int32) *Pod { return NewPod(podObject(name, hostPort(port))) }
	base := newNode(nodeObject("a"), 0)
	for port := range int32(3) {
		base = base.WithPod(pod("p"+string('0'+port), 80+port))
	}
	base = base.WithoutPod("pod-p0") // which leaves room behind its pods and ports
	one, other := base.WithPod(pod("one", 1)), base.WithPod(pod("other", 2))
	for name, node := range map[string]*Node{"one": one, "other": other} {
		if last := node.Pods[len(node.Pods)-1]; last.Name != name || node.Ports[len(node.Ports)-1] != last.HostPorts[0] {
			t.Errorf("with %s the node has pod %s and ports %v", name, last.Name, node.Ports)
		}
		if back := node.WithoutPod(types.UID("pod-" + name)); !back.Requested.equal(&base.Requested) || len(back.Pods) != 2 ||
			len(back.Ports) != 2 {
			t.Errorf("without %s again the node has %v, %v", name, back.Pods, back.Ports)
		}
	}
	if base.WithoutPod("none") != base {
		t.Error("without a pod that it does not have a node is another")
	}
}

func TestKindsThatAreNotReadAreRefused(t *testing.T) {
	c := newCluster(t)
	if err := c.Set(&corev1.ConfigMap{}); err == nil {
		t.Error("a ConfigMap was set")
	}
	if err := c.Delete(&corev1.ConfigMap{}); err == nil {
		t.Error("a ConfigMap was deleted")
	}
}
