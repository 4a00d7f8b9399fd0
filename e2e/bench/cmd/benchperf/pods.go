package main

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/devices"
)

// Names that pods, nodes and namespaces share.
const (
	colour       = "colour"
	team         = "team"
	devops       = "devops"
	oneRegion    = "region-1"
	otherRegion  = "region-2"
	highPriority = "perf-high"
	secret       = "perf"
	hold         = "example.com/hold"
)

// shape makes a pod what its workload is about.
type shape func(*corev1.Pod)

// pods makes a number of pods of a namespace. None has a controller, as in upstream's workloads.
func pods(namespace, prefix string, count int, shapes ...shape) []*corev1.Pod {
	all := make([]*corev1.Pod, count)
	for i := range all {
		all[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%05d", prefix, i), Namespace: namespace, Labels: map[string]string{}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "pause", Image: "example.com/pause", Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			}}},
		}
		wants("100m", "500Mi")(all[i])
		for _, s := range shapes {
			s(all[i])
		}
	}
	return all
}

// on binds pods to the nodes in turn, from the first one on.
func on(nodes []*corev1.Node, pods []*corev1.Pod) []*corev1.Pod {
	for i, p := range pods {
		p.Spec.NodeName = nodes[i%len(nodes)].Name
	}
	return pods
}

func wants(cpu, memory string) shape {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		}
	}
}

func labelled(value string) shape { return func(p *corev1.Pod) { p.Labels[colour] = value } }

func important(p *corev1.Pod) { p.Spec.PriorityClassName = highPriority }

// atOnce has the pod gone as soon as it is evicted.
func atOnce(p *corev1.Pod) { p.Spec.TerminationGracePeriodSeconds = new(int64(0)) }

func gated(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: hold}} }

// about selects pods of a colour in some namespaces, or in all namespaces of the team when none is named.
func about(value, topologyKey string, namespaces []string) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{
		TopologyKey: topologyKey, Namespaces: namespaces,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{colour: value}},
	}
	if len(namespaces) == 0 {
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{team: devops}}
	}
	return term
}

func near(namespaces ...string) shape {
	return drawn("blue", corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{about("blue", corev1.LabelTopologyRegion, namespaces)},
	}})
}

func apart(namespaces ...string) shape {
	return drawn("green", corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{about("green", corev1.LabelHostname, namespaces)},
	}})
}

func preferNear(namespaces ...string) shape {
	return drawn("red", corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 1, PodAffinityTerm: about("red", corev1.LabelHostname, namespaces)},
		},
	}})
}

func preferApart(namespaces ...string) shape {
	return drawn("yellow", corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 1, PodAffinityTerm: about("yellow", corev1.LabelHostname, namespaces)},
		},
	}})
}

// drawn gives a pod a colour and an affinity.
func drawn(value string, affinity corev1.Affinity) shape {
	return func(p *corev1.Pod) {
		labelled(value)(p)
		p.Spec.Affinity = affinity.DeepCopy()
	}
}

func spread(unless corev1.UnsatisfiableConstraintAction) shape {
	return func(p *corev1.Pod) {
		labelled("blue")(p)
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 5, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: unless,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{colour: "blue"}},
		}}
	}
}

func inARegion(p *corev1.Pod) {
	requireNode(p, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelTopologyRegion, Operator: corev1.NodeSelectorOpIn, Values: []string{oneRegion, otherRegion}},
	}})
}

// ofDaemonSet has each pod want the node of its own number, as the DaemonSet controller does.
func ofDaemonSet(nodes []*corev1.Node) shape {
	next := 0
	return func(p *corev1.Pod) {
		requireNode(p, corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{nodes[next%len(nodes)].Name}},
		}})
		next++
	}
}

func requireNode(p *corev1.Pod, term corev1.NodeSelectorTerm) {
	p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}},
	}}
}

func withSecret(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "volume", VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, Optional: new(true)},
	}}}
}

// withVolume gives each pod a claim of its own; see [ground.volumes].
func withVolume(kind storage) shape {
	return func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "volume", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: kind.claimOf(p), ReadOnly: true},
		}}}
	}
}

func withDevice(p *corev1.Pod) { devices.Claim(&p.Spec, 1) }
