package explanation_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
)

// began is when all situations begin.
var began = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// situation is a small cluster, pods that wait, and what has happened since they came.
type situation struct {
	selection config.NodeSelection
	nodes     []*corev1.Node
	pods      []*corev1.Pod
	// asked are pods that kube-scheduler asks about, by their places in pods, and then changes are shown.
	asked   []int
	changes []change
}

// change is a pod that is shown in another state, or not any more, or a node that joins.
type change struct {
	pod  int
	to   *corev1.Pod // nil for one that is gone
	node *corev1.Node
}

// drawing makes situations.
type drawing struct{ *rand.Rand }

func (d drawing) chance(percent int) bool { return d.IntN(100) < percent }

func (d drawing) oneOf(of ...string) string { return of[d.IntN(len(of))] }

// situationOf returns the situation of a seed.
func situationOf(seed uint64) *situation {
	d := drawing{rand.New(rand.NewPCG(seed, 0))}
	s := &situation{selection: config.NodeSelectionScheduler}
	if d.chance(40) {
		s.selection = config.NodeSelectionMuster
	}
	even := d.chance(50)
	for i := range 1 + d.IntN(5) {
		cpu := d.oneOf("1", "2", "4", "8")
		if even {
			cpu = "4"
		}
		s.nodes = append(s.nodes, d.node(fmt.Sprint("n", i), cpu))
	}
	for i := range d.IntN(5) {
		node := s.nodes[d.IntN(len(s.nodes))]
		pod := d.pod(fmt.Sprint("r", i), d.oneOf("500m", "1", "2", "3"))
		pod.Spec.NodeName, pod.Status.Phase = node.Name, corev1.PodRunning
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs", Controller: new(true)}}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		if d.chance(25) {
			d.leave(pod)
		}
		s.pods = append(s.pods, pod)
	}
	for i := range d.IntN(4) {
		pod := d.pod(fmt.Sprint("p", i), d.oneOf("500m", "1", "2", "4", "5", "9"))
		if d.chance(20) {
			pod.Status.NominatedNodeName = s.nodes[d.IntN(len(s.nodes))].Name
		}
		s.pods = append(s.pods, pod)
	}
	for i := range d.IntN(3) {
		s.pods = append(s.pods, d.gang(fmt.Sprint("g", i), s.nodes)...)
	}
	s.happens(d)
	return s
}

func (d drawing) node(name, cpu string) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, "zone": d.oneOf("a", "b")}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(d.oneOf("4Gi", "64Gi")),
				corev1.ResourcePods: resource.MustParse(d.oneOf("2", "110", "110", "110")),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	switch {
	case d.chance(12):
		node.Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	case d.chance(8):
		node.Spec.Unschedulable = true
	}
	return node
}

func (d drawing) pod(name, cpu string) *corev1.Pod {
	requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	if d.chance(25) {
		requests[corev1.ResourceMemory] = resource.MustParse(d.oneOf("1Gi", "3Gi", "16Gi"))
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID("uid-" + name), ResourceVersion: "1",
			Labels: map[string]string{"app": d.oneOf("a", "b")}, CreationTimestamp: metav1.NewTime(began.Add(-time.Minute)),
		},
		Spec: corev1.PodSpec{
			SchedulerName: corev1.DefaultSchedulerName, Priority: new([]int32{0, 0, 0, 10}[d.IntN(4)]),
			Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests}}},
		},
	}
	if d.chance(15) {
		pod.Spec.NodeSelector = map[string]string{"zone": d.oneOf("a", "b")}
	}
	if d.chance(15) {
		pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	}
	if d.chance(12) {
		pod.Spec.Affinity = apartFrom("app", pod.Labels["app"])
	}
	if d.chance(6) {
		gated(pod)
	}
	return pod
}

// apartFrom keeps a pod off nodes with pods of a label.
func apartFrom(key, value string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{key: value}},
		}},
	}}
}

func gated(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "quota"}} }

// leave has a pod be deleted: it goes soon, or has for so long not gone that nobody knows when.
func (d drawing) leave(pod *corev1.Pod) {
	at := metav1.NewTime(began.Add(20 * time.Second))
	if d.chance(20) {
		at = metav1.NewTime(began.Add(-time.Hour))
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &at, new(int64(30))
}

// gang returns members of a gang: too few, enough, or one too many, some of them in another state than the others.
func (d drawing) gang(name string, nodes []*corev1.Node) (pods []*corev1.Pod) {
	least := 1 + d.IntN(4)
	like, alike := d.pod(name, d.oneOf("500m", "1", "2", "4")), d.chance(60)
	like.Spec.SchedulingGates = nil
	for i := range d.IntN(2) + least - d.IntN(2) {
		pod := like.DeepCopy()
		if !alike {
			pod = d.pod(name, d.oneOf("500m", "1", "2", "4"))
			pod.Spec.Priority = like.Spec.Priority
		}
		pod.Name = fmt.Sprint(name, "-", i)
		pod.UID = types.UID("uid-" + pod.Name)
		pod.Labels[v1alpha1.LabelMuster] = name
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: strconv.Itoa(least)}
		switch {
		case d.chance(8):
			pod.Spec.NodeName, pod.Status.Phase = nodes[d.IntN(len(nodes))].Name, corev1.PodRunning
			pod.Spec.SchedulingGates = nil
			if d.chance(50) {
				d.leave(pod)
			}
		case d.chance(8):
			d.leave(pod)
		case d.chance(6):
			gated(pod)
		}
		pods = append(pods, pod)
	}
	return pods
}

// happens has kube-scheduler ask about some pods, and then some be changed.
func (s *situation) happens(d drawing) {
	if len(s.pods) == 0 {
		return
	}
	for range d.IntN(4) {
		s.asked = append(s.asked, d.IntN(len(s.pods)))
	}
	for range d.IntN(3) {
		at := d.IntN(len(s.pods))
		to := s.pods[at].DeepCopy()
		to.ResourceVersion = "2"
		switch {
		case d.chance(25):
			s.changes = append(s.changes, change{node: d.node("joined", d.oneOf("2", "4", "8"))})
			continue
		case d.chance(35):
			to = nil
		case to.Spec.NodeName != "" || d.chance(40):
			d.leave(to)
		case len(to.Spec.SchedulingGates) > 0:
			to.Spec.SchedulingGates = nil
		default:
			to.Status.NominatedNodeName = s.nodes[d.IntN(len(s.nodes))].Name
		}
		s.changes = append(s.changes, change{pod: at, to: to})
	}
}

// String tells of all that matters in a situation.
func (s *situation) String() string {
	var text strings.Builder
	node := func(n *corev1.Node) {
		offered := n.Status.Allocatable
		fmt.Fprintln(&text, n.Name, offered.Cpu(), offered.Memory(), offered.Pods(), n.Labels["zone"], n.Spec.Taints, n.Spec.Unschedulable)
	}
	pod := func(p *corev1.Pod) {
		asks := p.Spec.Containers[0].Resources.Requests
		fmt.Fprintln(&text, p.Name, "on", p.Spec.NodeName, "nominated", p.Status.NominatedNodeName, "asks", asks.Cpu(), asks.Memory(),
			"priority", *p.Spec.Priority, "deleted", p.DeletionTimestamp, p.Labels, p.Annotations, p.Spec.NodeSelector,
			"apart", p.Spec.Affinity != nil, "tolerates", len(p.Spec.Tolerations) > 0, p.Spec.SchedulingGates)
	}
	for _, n := range s.nodes {
		node(n)
	}
	for _, p := range s.pods {
		pod(p)
	}
	fmt.Fprintln(&text, s.selection, "picks; asked about", s.asked)
	for _, to := range s.changes {
		switch {
		case to.node != nil:
			node(to.node)
		case to.to == nil:
			fmt.Fprintln(&text, s.pods[to.pod].Name, "goes")
		default:
			pod(to.to)
		}
	}
	return text.String()
}
