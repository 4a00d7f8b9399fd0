package conformance

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
)

// GenerateDeployments draws a scenario that is less wild than others: nodes of a few sizes in three zones, Deployments
// of different sizes that have pods already, and more pods of these to be placed, in any order. The profile is the
// default one of a muster that picks the nodes. The same seed draws the same one.
func GenerateDeployments(seed uint64, nodes, pods int) *Scenario {
	const placedOnEach = 2
	s := newSource(seed)
	scenario := &Scenario{Profile: pickingProfile()}
	for i := range nodes {
		scenario.Nodes = append(scenario.Nodes, s.machine(nodeName(i)))
	}
	var templates []*corev1.Pod
	for i := range 3 + s.upTo(9) {
		set, template := s.deployment(workloadName(i))
		scenario.Objects.ReplicaSets = append(scenario.Objects.ReplicaSets, set)
		templates = append(templates, template)
	}
	born := 0
	replica := func() *corev1.Pod {
		born++
		pod := templates[min(s.upTo(len(templates)-1), s.upTo(len(templates)-1))].DeepCopy()
		pod.Name += fmt.Sprintf("-%d", born)
		pod.UID = types.UID(pod.Name)
		return pod
	}
	for range nodes * placedOnEach {
		pod := replica()
		pod.Spec.NodeName, pod.Status.Phase = one(s, scenario.Nodes...).Name, corev1.PodRunning
		scenario.Placed = append(scenario.Placed, pod)
	}
	for range pods {
		pod := replica()
		pod.Status.Phase = corev1.PodPending
		scenario.Pending = append(scenario.Pending, pod)
	}
	return scenario
}

// pickingProfile is the default one with nodeSelection: Muster, less what kube-scheduler lacks.
func pickingProfile() Profile {
	cfg := config.Default().Profiles[0]
	cfg.NodeSelection = config.NodeSelectionMuster
	absent := map[string]bool{}
	for _, plugin := range plugins() {
		absent[plugin.name] = plugin.absent != ""
	}
	var profile Profile
	for _, name := range cfg.FilterPlugins() {
		if !absent[name] {
			profile.Filter = append(profile.Filter, name)
		}
	}
	for _, score := range cfg.ScorePlugins() {
		if !absent[score.Name] {
			profile.Score = append(profile.Score, ScorePlugin{Name: score.Name, Weight: int32(score.Weight)})
		}
	}
	return profile
}

// machine draws a node that most pods fit.
func (s *source) machine(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
		corev1.LabelHostname: name, zoneLabel: one(s, "a", "a", "b", "c"), diskLabel: one(s, "", "ssd"),
	}}}
	cores := one(s, int64(8), 16, 16, 32)
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(cores, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(one(s, cores, 4*cores)<<30, resource.BinarySI),
		corev1.ResourcePods:   *resource.NewQuantity(one(s, int64(12), 110), resource.DecimalSI),
	}
	if s.chance(10) {
		node.Spec.Taints = []corev1.Taint{{Key: taintKey(s), Effect: one(s, corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule)}}
	}
	pull(s, node)
	return node
}

// deployment draws the ReplicaSet of a Deployment, and a pod of it without a name of its own.
func (s *source) deployment(name string) (*appsv1.ReplicaSet, *corev1.Pod) {
	same := &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
	set := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault, UID: types.UID(name)},
		Spec:       appsv1.ReplicaSetSpec{Selector: same},
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: metav1.NamespaceDefault, Labels: same.MatchLabels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
	}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(one(s, int64(100), 250, 500, 1000, 2000), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(one(s, int64(1), 2, 4, 8)<<28, resource.BinarySI),
	}}}}
	run(s, pod)
	s.arrange(pod, same)
	return set, pod
}

// arrange draws where the pods of a Deployment are to be: away from each other, spread over zones, near to another one,
// on some nodes, or where the defaults have them.
func (s *source) arrange(pod *corev1.Pod, same *metav1.LabelSelector) {
	affinity := &corev1.Affinity{}
	pod.Spec.Affinity = affinity
	apart := corev1.PodAffinityTerm{LabelSelector: same, TopologyKey: corev1.LabelHostname}
	other := &metav1.LabelSelector{MatchLabels: map[string]string{"app": workloadName(s.upTo(workloads - 1))}}
	near := corev1.PodAffinityTerm{LabelSelector: other, TopologyKey: zoneLabel}
	switch s.upTo(6) {
	case 0:
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{apart}}
	case 1:
		affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 50, PodAffinityTerm: apart}},
		}
	case 2:
		affinity.PodAffinity = &corev1.PodAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{Weight: 50, PodAffinityTerm: near}},
		}
	case 3, 4:
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: one(s, zoneLabel, corev1.LabelHostname), LabelSelector: same,
			WhenUnsatisfiable: one(s, corev1.DoNotSchedule, corev1.ScheduleAnyway),
		}}
	case 5:
		affinity.NodeAffinity = &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 20, Preference: labelled(diskLabel, corev1.NodeSelectorOpIn, "ssd").NodeSelectorTerms[0]},
		}}
	}
}
