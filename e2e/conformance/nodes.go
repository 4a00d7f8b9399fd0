package conformance

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/nodedeclaredfeatures/features"
)

func cordon(s *source, node *corev1.Node) { node.Spec.Unschedulable = s.chance(20) }

func nameNode(s *source, pod *corev1.Pod) {
	if s.chance(10) {
		pod.Spec.NodeName = one(s, nodeName(0), nodeName(1), nodeName(2), "nowhere")
	}
}

// The vocabulary of taints and tolerations. Numbers are for the operators Lt and Gt, which are off by default.
func taintKey(s *source) string {
	return one(s, corev1.TaintNodeUnschedulable, "dedicated", "example.com/level")
}

func taintValue(s *source) string { return one(s, "", "batch", "web", "3", "7") }

func taintEffect(s *source) corev1.TaintEffect {
	return one(s, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule)
}

func taint(s *source, node *corev1.Node) {
	if s.chance(50) {
		return
	}
	for range 1 + s.upTo(2) {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: taintKey(s), Value: taintValue(s), Effect: taintEffect(s)})
	}
}

func tolerate(s *source, pod *corev1.Pod) {
	if s.chance(25) {
		return
	}
	for range 1 + s.upTo(3) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, s.toleration())
	}
}

func (s *source) toleration() corev1.Toleration {
	t := corev1.Toleration{
		Key: taintKey(s),
		Operator: one(
			s, "", corev1.TolerationOpEqual, corev1.TolerationOpExists, corev1.TolerationOpExists, corev1.TolerationOpLt, corev1.TolerationOpGt,
		),
		Effect: one(s, "", taintEffect(s)),
	}
	if t.Operator != corev1.TolerationOpExists {
		t.Value = taintValue(s)
	} else if s.chance(25) {
		t.Key = ""
	}
	t.TolerationSeconds = maybe(s, 20, int64(0), 300, -1)
	return t
}

// condition gives a node conditions, most of them as they should be.
func condition(s *source, node *corev1.Node) {
	for _, kind := range []corev1.NodeConditionType{
		corev1.NodeReady, corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable,
		"ExamplePressure",
	} {
		status := one(s, corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown)
		if s.chance(75) {
			status = corev1.ConditionFalse
			if kind == corev1.NodeReady {
				status = corev1.ConditionTrue
			}
		}
		if s.chance(90) {
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind, Status: status})
		}
	}
}

// declareFeatures has the kubelet of a node declare some of the features that there are, and one that nobody knows.
func declareFeatures(s *source, node *corev1.Node) {
	if s.chance(20) {
		return
	}
	names := []string{"Unknown"}
	for _, feature := range features.AllFeatures {
		names = append(names, feature.Name())
	}
	node.Status.DeclaredFeatures = several(s, len(names), names...)
	slices.Sort(node.Status.DeclaredFeatures) // as the API server has it
	node.Status.DeclaredFeatures = slices.Compact(node.Status.DeclaredFeatures)
}

// needFeatures draws what a pod needs a feature for, or nearly so.
func needFeatures(s *source, pod *corev1.Pod) {
	if s.chance(20) {
		pod.Spec.HostNetwork = true
	}
	pod.Spec.HostUsers = maybe(s, 40, true, true, false, false, false)
	for _, container := range containers(pod) {
		if s.chance(8) {
			action := one(s, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
			container.RestartPolicyRules = append(container.RestartPolicyRules, corev1.ContainerRestartRule{Action: action})
		}
	}
}

// nodeImages are the names of images as nodes report them, podImages as pods do: with and without a tag, with a port in
// the name of the registry, and by digest.
func nodeImages() []string {
	return []string{
		"web:latest", "web:v2", "registry.example.com:5000/db:latest", "registry.example.com:5000/db:v1", "cache@sha256:0", "nobody/runs-it:v1",
	}
}

func podImages() []string {
	return []string{
		"web",
		"web:latest",
		"web:v2",
		"registry.example.com:5000/db",
		"registry.example.com:5000/db:v1",
		"cache@sha256:0",
		"cache",
		"nobody/has-it",
		"",
	}
}

// pull gives a node images, none of a name that another one has there: which of them counts, kube-scheduler's snapshots
// and its cache do not agree on.
func pull(s *source, node *corev1.Node) {
	for images := several(s, len(nodeImages()), nodeImages()...); len(images) > 0; {
		names := 1 + s.upTo(min(len(images), 2)-1)
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names:     slices.Clone(images[:names]),
			SizeBytes: one(s, int64(0), 1, 20<<20, 200<<20, 700<<20, 731123456, 1500<<20, 30<<30),
		})
		images = images[names:]
	}
}

// run gives the containers of a pod images, and now and then the pod a volume of one.
func run(s *source, pod *corev1.Pod) {
	for _, container := range containers(pod) {
		container.Image = one(s, podImages()...)
	}
	for countsImageVolumes && s.chance(20) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "image", VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: one(s, podImages()...)},
		}})
	}
}
