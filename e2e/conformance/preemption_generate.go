package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
)

// Sizes of a scenario of preemption.
const (
	mostCrowded  = 6 // nodes
	mostOnOne    = 6 // pods
	mostBudgets  = 4
	mostPromises = 3
)

// GeneratePreemption draws a scenario for [Judge.HearPreemption]: nodes that are crowded with pods of all priorities,
// and one pod that mostly has no room. The same seed draws the same one. A quarter is as wild as the scenarios of
// [Generate]; in the others pods are in each other's way.
func GeneratePreemption(seed uint64) *Scenario {
	s := newSource(seed)
	var scenario *Scenario
	var draw func(name string) *corev1.Pod
	if s.chance(25) {
		scenario = &Scenario{Profile: s.profile(compared()), Objects: s.objects()}
		draw = func(name string) *corev1.Pod {
			pod := s.pod(name)
			makeAttachable(s, pod)
			return pod
		}
		for n := range 1 + s.upTo(mostCrowded-1) {
			scenario.Nodes = append(scenario.Nodes, s.node(nodeName(n)))
		}
	} else {
		scenario = &Scenario{Profile: rivalsProfile(s, false), Objects: rivalsObjects(s)}
		draw = func(name string) *corev1.Pod {
			pod := s.rival(s.upTo(1))
			pod.Name, pod.UID = name, types.UID(name)
			return pod
		}
		for n := range 1 + s.upTo(mostRivalled-1) {
			scenario.Nodes = append(scenario.Nodes, s.rivalled(nodeName(n)))
		}
	}
	scenario.Profile.Score = nil
	for _, node := range scenario.Nodes {
		for range s.upTo(mostOnOne) {
			pod := draw(fmt.Sprintf("placed-%d", len(scenario.Placed)))
			pod.Spec.NodeName, pod.Status.Phase = node.Name, corev1.PodRunning
			yieldPorts(pod, scenario.Placed)
			scenario.Placed = append(scenario.Placed, pod)
		}
	}
	s.rank(scenario.Placed)
	if s.chance(20) {
		s.leave(scenario)
	}
	waiting := func(name string, priorities ...int32) *corev1.Pod {
		pod := draw(name)
		pod.Spec.NodeName, pod.Spec.SchedulerName, pod.Status.Phase = "", corev1.DefaultSchedulerName, corev1.PodPending
		pod.Spec.Priority = new(one(s, priorities...))
		return pod
	}
	pod := waiting("pending-0", 1, 5, 10, 100, 100, 100)
	s.nominate(pod)
	scenario.Pending = []*corev1.Pod{pod}
	if s.chance(30) {
		for n := range 1 + s.upTo(mostPromises-1) {
			pod := waiting(fmt.Sprintf("nominated-%d", n), 0, 5, 10, 100, 100, 101)
			pod.Status.NominatedNodeName = one(s, nodeName(0), nodeName(1), nodeName(2), "nowhere")
			scenario.Nominated = append(scenario.Nominated, pod)
		}
	}
	yieldClaims(scenario)
	for n := range s.upTo(mostBudgets) {
		scenario.Objects.PodDisruptionBudgets = append(scenario.Objects.PodDisruptionBudgets, s.budget(n, scenario.Placed))
	}
	return scenario
}

// rank makes pods more or less important, no two of them alike. One may have yet to start.
func (s *source) rank(pods []*corev1.Pod) {
	for i, at := range s.random.Perm(len(pods)) {
		pod := pods[i]
		if s.chance(90) {
			pod.Spec.Priority = new(one(s, int32(-5), 0, 0, 1, 1, 5, 10))
		}
		if at > 0 || s.chance(50) {
			pod.Status.StartTime = &metav1.Time{Time: time.Unix(1_700_000_000+int64(at), 0)}
		}
		if s.chance(10) {
			pod.Labels = nil
		}
	}
}

// leave has some pods go. PodTopologySpread is off then: kube-scheduler does not count a pod that is going, and counts
// one less when it goes.
func (s *source) leave(scenario *Scenario) {
	scenario.Profile.Filter = slices.DeleteFunc(scenario.Profile.Filter, func(name string) bool { return name == config.PodTopologySpread })
	for _, pod := range scenario.Placed {
		if s.chance(20) {
			terminate(pod)
		}
	}
}

// budget draws a disruption budget. Of some pods it knows already that they are to go.
func (s *source) budget(n int, pods []*corev1.Pod) *policyv1.PodDisruptionBudget {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: s.meta(fmt.Sprintf("budget-%d", n))}
	if s.chance(70) {
		budget.Namespace = metav1.NamespaceDefault
	}
	budget.Spec.Selector = s.labelSelector(podLabels())
	if s.chance(50) { // so that a pod is under several
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": one(s, "web", "db")}}
	}
	budget.Status.DisruptionsAllowed = one(s, int32(0), 0, 0, 1, 2, 100)
	for _, pod := range pods {
		if s.chance(10) {
			if budget.Status.DisruptedPods == nil {
				budget.Status.DisruptedPods = map[string]metav1.Time{}
			}
			budget.Status.DisruptedPods[pod.Name] = metav1.Time{Time: time.Unix(1_700_000_000, 0)}
		}
	}
	return budget
}

// yieldPorts takes the host ports from a pod if another one has one of them on the node. kube-scheduler would not have
// them there together, and takes the port for free when one of the two goes.
func yieldPorts(pod *corev1.Pod, placed []*corev1.Pod) {
	taken := map[corev1.ContainerPort]bool{}
	for _, other := range placed {
		if other.Spec.NodeName == pod.Spec.NodeName {
			for _, port := range hostPorts(other) {
				taken[port] = true
			}
		}
	}
	if slices.ContainsFunc(hostPorts(pod), func(port corev1.ContainerPort) bool { return taken[port] }) {
		for _, container := range containers(pod) {
			container.Ports = nil
		}
	}
}

// yieldClaims takes claims that only one pod may use from pods if another one uses them, or one of that name in another
// namespace. kube-scheduler takes such a claim for free when one of the two goes, wherever it is.
func yieldClaims(scenario *Scenario) {
	exclusive, taken := exclusiveClaims(scenario), map[string]bool{}
	for _, pod := range slices.Concat(scenario.Placed, scenario.Nominated) {
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
			if volume.PersistentVolumeClaim == nil || !exclusive[volume.PersistentVolumeClaim.ClaimName] {
				return false
			}
			name := volume.PersistentVolumeClaim.ClaimName
			yields := taken[name] || pod.Namespace != scenario.Pending[0].Namespace
			taken[name] = true
			return yields
		})
	}
}

// exclusiveClaims are the names of the claims that only one pod may use.
func exclusiveClaims(scenario *Scenario) map[string]bool {
	exclusive := map[string]bool{}
	for _, claim := range scenario.Objects.PersistentVolumeClaims {
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			exclusive[claim.Name] = true
		}
	}
	return exclusive
}

// hostPorts returns the host ports of a pod as kube-scheduler notes them on a node.
func hostPorts(pod *corev1.Pod) []corev1.ContainerPort {
	var ports []corev1.ContainerPort
	for _, container := range containers(pod) {
		for _, port := range container.Ports {
			ports = append(ports, corev1.ContainerPort{
				HostPort: port.HostPort, HostIP: cmp.Or(port.HostIP, "0.0.0.0"), Protocol: cmp.Or(port.Protocol, corev1.ProtocolTCP),
			})
		}
	}
	return ports
}
