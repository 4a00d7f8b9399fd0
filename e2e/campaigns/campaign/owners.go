package campaign

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

// secondScheduler is the profile beside the default scheduler's, whose pods muster never
// nominates.
const secondScheduler = "second-scheduler"

// Priority classes above the default of 0.
const raised, urgent = "raised", "urgent"

// owner makes pods alike: their template, and their controller if they have one.
type owner struct {
	name      string
	scheduler string
	size      size
	atMost    int // how many pods live at a time
	shape     func(*corev1.Pod)

	alive int
}

// drawOwners draws the sizes of all owners of pods.
func drawOwners(r *rand.Rand, nodes int) []*owner {
	few, many := max(2, nodes/3), 100*nodes
	var owners []*owner
	for _, template := range []struct {
		name     string
		smallest int64 // milli CPU; the largest is twice that
		atMost   int
		shape    func(*corev1.Pod)
	}{
		{"tiny", 50, many, controlled},
		{"small", 200, many, controlled},
		{"medium", 500, many, controlled},
		{"large", 700, many, controlled},
		{"single", 300, many, func(*corev1.Pod) {}},
		{"raised", 500, many, both(controlled, withPriority(raised))},
		{"urgent", 700, many, both(controlled, withPriority(urgent))},
		{"lingering", 400, many, both(controlled, linger)},
		{"zonal", 300, few, both(controlled, inZone(zones[r.IntN(len(zones))]))},
		{"apart", 300, few, both(controlled, keepApart)},
		{"together", 200, few, both(controlled, keepTogether)},
		{"listening", 200, max(1, nodes/5), both(controlled, listen)},
	} {
		milliCPU := template.smallest + r.Int64N(template.smallest)
		for _, scheduler := range []string{corev1.DefaultSchedulerName, corev1.DefaultSchedulerName, secondScheduler} {
			owners = append(owners, &owner{
				name:      fmt.Sprintf("%s-%d", template.name, len(owners)),
				scheduler: scheduler, atMost: template.atMost, shape: template.shape,
				size: size{milliCPU: milliCPU, pods: 1},
			})
		}
	}
	return owners
}

// pod makes one of the owner's pods.
func (o *owner) pod(name string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workload.Namespace, Labels: map[string]string{"app": o.name}},
		Spec: corev1.PodSpec{
			SchedulerName:                 o.scheduler,
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "main", Image: "example.com/main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{
					corev1.ResourceCPU:    *resource.NewMilliQuantity(o.size.milliCPU, resource.DecimalSI),
					corev1.ResourceMemory: *resource.NewQuantity(o.size.milliCPU<<20, resource.BinarySI), // 1 GiB a core; nodes have four
				},
			}}},
		},
	}
	o.shape(p)
	return p
}

func both(f, g func(*corev1.Pod)) func(*corev1.Pod) { return func(p *corev1.Pod) { f(p); g(p) } }

// controlled makes the pod one of a controller's, which is not there to create another.
func controlled(p *corev1.Pod) {
	app := p.Labels["app"]
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID("uid-of-" + app), Controller: new(true),
	}}
}

func withPriority(class string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.PriorityClassName = class }
}

// linger has the pod take its time to end, so that who preempts it has to wait.
func linger(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(2)) }

func inZone(zone string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{corev1.LabelTopologyZone: zone} }
}

// ofTheOwner are all pods of the owner, anywhere with the same value of a node label.
func ofTheOwner(p *corev1.Pod, key string) []corev1.PodAffinityTerm {
	return []corev1.PodAffinityTerm{{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
}

func keepApart(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: ofTheOwner(p, corev1.LabelHostname),
	}}
}

func keepTogether(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: ofTheOwner(p, corev1.LabelTopologyZone),
	}}
}

// listen makes pods of all owners compete for one port of each node.
func listen(p *corev1.Pod) {
	p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 8080, HostPort: 8080, Protocol: corev1.ProtocolTCP}}
}

var zones = []string{"zone-a", "zone-b", "zone-c"}

// drawNode makes a node that is ready, the number-th. On some there is room for few pods,
// so that they are full before their CPUs are.
func drawNode(r *rand.Rand, number int) *corev1.Node {
	cores := []int64{2, 4}[r.IntN(2)]
	pods := cores * 6
	if r.IntN(4) == 0 {
		pods = cores + 2
	}
	name := fmt.Sprintf("node-%03d", number)
	room := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(cores<<32, resource.BinarySI), // 4 GiB a core
		corev1.ResourcePods:   *resource.NewQuantity(pods, resource.DecimalSI),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname: name, corev1.LabelTopologyZone: zones[number%len(zones)],
		}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated"}},
		},
	}
}

// size is the request of a pod or the capacity of a node, in the resource that runs out first.
type size struct{ milliCPU, pods int64 }

func offered(n *corev1.Node) size {
	return size{n.Status.Allocatable.Cpu().MilliValue(), n.Status.Allocatable.Pods().Value()}
}

func (s size) plus(o size) size  { return size{s.milliCPU + o.milliCPU, s.pods + o.pods} }
func (s size) minus(o size) size { return size{s.milliCPU - o.milliCPU, s.pods - o.pods} }

// of is the part of a room that it is, 1 for all of it.
func (s size) of(room size) float64 {
	return max(float64(s.milliCPU)/float64(room.milliCPU), float64(s.pods)/float64(room.pods))
}
