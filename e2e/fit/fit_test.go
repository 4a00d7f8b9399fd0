package fit_test

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"

	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/workload"
)

func TestAPodHasAPlaceExactlyWhenTheInTreeSchedulerSeesOne(t *testing.T) {
	inTree := newInTree(t)
	fitting, homeless := 0, 0
	for seed := range uint64(10) {
		c := workload.Generate(workload.Shape{Nodes: 20, Pods: 300, Seed: seed})
		r := rand.New(rand.NewPCG(seed, 1))
		c.Nodes[r.IntN(len(c.Nodes))].Spec.Unschedulable = true
		pods := crowd(r, c)

		places := map[string]string{}
		for _, place := range fit.Places(c.Nodes, pods) {
			places[place.Pod.Name] = place.Node
		}
		infos := inTree.infos(c.Nodes, pods)
		for _, p := range pods {
			if p.Spec.NodeName != "" {
				if node, ok := places[p.Name]; ok {
					t.Errorf("seed %d: %s is bound and has a place on %s", seed, p.Name, node)
				}
				continue
			}
			want := false
			for _, info := range infos {
				want = want || inTree.admits(t, p, info)
			}
			node, got := places[p.Name]
			if got != want {
				t.Errorf("seed %d: %s has a place: %t (%s), in-tree says %t", seed, p.Name, got, node, want)
			}
			if got && !inTree.admits(t, p, infos[node]) {
				t.Errorf("seed %d: in-tree refuses %s on %s", seed, p.Name, node)
			}
			if want {
				fitting++
			} else {
				homeless++
			}
		}
	}
	if fitting < 50 || homeless < 50 {
		t.Errorf("%d pods fit and %d do not: too few of a kind to tell anything", fitting, homeless)
	}
}

func TestPodsFitTogetherWhereEachTakesRoomFromTheNext(t *testing.T) {
	room := func(name, cpu string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("9"),
		}}}
	}
	asks := func(cpu string) *corev1.Pod {
		return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}}}}
	}
	bound := asks("2")
	bound.Spec.NodeName = "b"
	few := []*corev1.Pod{asks("2"), asks("2"), asks("2"), asks("2")}
	if got := fit.Together([]*corev1.Node{room("a", "5"), room("b", "4")}, append(few, bound), few); got != 3 {
		t.Errorf("%d pods fit together, want 3", got)
	}
}

func TestFinishedPodsHoldNoRoom(t *testing.T) {
	c := workload.Generate(workload.Shape{Nodes: 1, Pods: 2})
	c.Nodes[0].Spec.Taints = nil
	var pods []*corev1.Pod
	for template := range c.Templates {
		template.Spec.NodeSelector, template.Spec.Affinity = nil, nil
		pods = append(pods, &corev1.Pod{Spec: template.Spec}, &corev1.Pod{Spec: template.Spec})
	}
	blocker, waiting := pods[0], pods[1]
	c.Nodes[0].Status.Allocatable[corev1.ResourcePods] = resource.MustParse("1")
	blocker.Spec.NodeName = c.Nodes[0].Name

	for phase, want := range map[corev1.PodPhase]int{corev1.PodRunning: 0, corev1.PodSucceeded: 1, corev1.PodFailed: 1} {
		blocker.Status.Phase = phase
		if got := len(fit.Places(c.Nodes, []*corev1.Pod{blocker, waiting})); got != want {
			t.Errorf("beside a pod in phase %s: %d places, want %d", phase, got, want)
		}
	}
}

// crowd makes the pods of a cluster and binds most of them anywhere, so that nodes are
// nearly full and overfull.
func crowd(r *rand.Rand, c *workload.Cluster) []*corev1.Pod {
	var pods []*corev1.Pod
	for template, n := range c.Templates {
		for range n {
			p := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
			p.Name = template.Labels["app"] + "-" + string(rune('a'+len(pods)%26)) + string(rune('a'+len(pods)/26))
			if r.IntN(10) < 7 {
				p.Spec.NodeName = c.Nodes[r.IntN(len(c.Nodes))].Name
			}
			for i := range p.Spec.Containers {
				asked := p.Spec.Containers[i].Resources.Requests
				for name, quantity := range asked {
					if name != workload.GPUResource {
						quantity.Mul(int64(1 + r.IntN(12)))
						asked[name] = quantity
					}
				}
			}
			pods = append(pods, p)
		}
	}
	return pods
}

// inTree asks the scheduler's own plugins.
type inTree struct{ taints, unschedulable fwk.FilterPlugin }

func newInTree(t *testing.T) inTree {
	t.Helper()
	taints, err := tainttoleration.New(t.Context(), nil, nil, feature.Features{})
	if err != nil {
		t.Fatal(err)
	}
	unschedulable, err := nodeunschedulable.New(t.Context(), nil, nil, feature.Features{})
	if err != nil {
		t.Fatal(err)
	}
	return inTree{taints.(fwk.FilterPlugin), unschedulable.(fwk.FilterPlugin)}
}

func (inTree) infos(nodes []*corev1.Node, pods []*corev1.Pod) map[string]*framework.NodeInfo {
	infos := map[string]*framework.NodeInfo{}
	for _, n := range nodes {
		infos[n.Name] = framework.NewNodeInfo()
		infos[n.Name].SetNode(n)
	}
	for _, p := range pods {
		if info := infos[p.Spec.NodeName]; info != nil {
			info.AddPod(p)
		}
	}
	return infos
}

func (s inTree) admits(t *testing.T, p *corev1.Pod, info *framework.NodeInfo) bool {
	return len(scheduler.AdmissionCheck(p, info, false)) == 0 &&
		s.taints.Filter(t.Context(), nil, p, info).IsSuccess() &&
		s.unschedulable.Filter(t.Context(), nil, p, info).IsSuccess()
}
