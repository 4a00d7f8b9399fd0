package conformance

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
)

func drawInterPodAffinityArgs(s *source) map[string]any {
	args := map[string]any{}
	if s.chance(80) {
		args["hardPodAffinityWeight"] = one(s, 0, 1, 10, 100)
	}
	if s.chance(50) {
		args["ignorePreferredTermsOfExistingPods"] = s.chance(50)
	}
	return args
}

// drawPodAffinity gives a pod terms about other pods. The pod may be one of them itself.
func drawPodAffinity(s *source, pod *corev1.Pod) {
	if s.chance(50) {
		return
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if s.chance(60) {
		pod.Spec.Affinity.PodAffinity = &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  s.podAffinityTerms(one(s, 0, 0, 1, 1, 2), pod),
			PreferredDuringSchedulingIgnoredDuringExecution: s.weightedPodAffinityTerms(s.upTo(2), pod),
		}
	}
	if s.chance(60) {
		pod.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution:  s.podAffinityTerms(one(s, 0, 0, 1, 1, 2), pod),
			PreferredDuringSchedulingIgnoredDuringExecution: s.weightedPodAffinityTerms(s.upTo(2), pod),
		}
	}
}

func (s *source) podAffinityTerms(count int, owner *corev1.Pod) []corev1.PodAffinityTerm {
	var terms []corev1.PodAffinityTerm
	for range count {
		terms = append(terms, s.podAffinityTerm(owner))
	}
	return terms
}

func (s *source) weightedPodAffinityTerms(count int, owner *corev1.Pod) []corev1.WeightedPodAffinityTerm {
	var terms []corev1.WeightedPodAffinityTerm
	for range count {
		terms = append(terms, corev1.WeightedPodAffinityTerm{Weight: one(s, int32(1), 1, 7, 33, 100), PodAffinityTerm: s.podAffinityTerm(owner)})
	}
	return terms
}

// podAffinityTerm draws a term, which may be about the pod itself or about labels that many pods have. Few do not
// parse.
func (s *source) podAffinityTerm(owner *corev1.Pod) corev1.PodAffinityTerm {
	term := corev1.PodAffinityTerm{TopologyKey: s.topologyKey(), LabelSelector: s.labelSelector(podLabels())}
	switch {
	case s.chance(2):
		term.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "not a value"}}
	case s.chance(25):
		term.LabelSelector = &metav1.LabelSelector{MatchLabels: owner.Labels}
	case s.chance(40):
		term.LabelSelector = &metav1.LabelSelector{MatchLabels: common()}
	}
	if s.chance(25) {
		term.Namespaces = several(s, 2, append(namespaceNames(), "nowhere")...)
	}
	if s.chance(30) {
		term.NamespaceSelector = withoutAbsence(s.labelSelector(namespaceLabels()))
	}
	if s.chance(15) { // the API server has merged them into the selector, or does not know of them
		term.MatchLabelKeys = s.keys(podLabels())
	}
	if s.chance(15) {
		term.MismatchLabelKeys = s.keys(podLabels())
	}
	return term
}

// completeKeys gives many nodes all topology keys.
func completeKeys(s *source, node *corev1.Node) {
	if node.Labels == nil || s.chance(30) {
		return
	}
	for _, label := range nodeLabels() {
		if _, labelled := node.Labels[label.key]; !labelled && (label.key == zoneLabel || label.key == regionLabel) {
			node.Labels[label.key] = one(s, label.values...)
		}
	}
}

// common are the labels of most pods.
func common() map[string]string { return map[string]string{"app": "web"} }

// herd makes many of the pods that are placed alike.
func herd(s *source, pod *corev1.Pod) {
	if s.chance(50) {
		pod.Labels = common()
	}
}

// spreadPods draws the topology spread constraints of a pod. Many have none, for the default ones.
func spreadPods(s *source, pod *corev1.Pod) {
	if s.chance(50) {
		return
	}
	for range one(s, 1, 1, 1, 2, 3) {
		constraint := s.spreadConstraint()
		switch constraint.LabelSelector = s.labelSelector(podLabels()); {
		case s.chance(1):
			constraint.LabelSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "no value: of a label"}}
		case s.chance(60):
			constraint.LabelSelector = &metav1.LabelSelector{MatchLabels: common()}
		}
		if s.chance(25) {
			constraint.MatchLabelKeys = s.keys(podLabels())
		}
		constraint.MinDomains = maybe(s, 25, int32(0), 1, 2, 3, 4, 20)
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, constraint)
	}
}

// topologyKey draws the name of a label that most, many or no nodes have.
func (s *source) topologyKey() string {
	if s.chance(10) {
		return one(s, diskLabel, "absent")
	}
	return one(s, zoneLabel, zoneLabel, regionLabel, corev1.LabelHostname)
}

// drawSpreadArgs draws default constraints, or where they come from. No two may be for the same purpose.
func drawSpreadArgs(s *source) map[string]any {
	if s.chance(20) {
		return map[string]any{"defaultingType": config.SystemDefaulting}
	}
	type purpose struct {
		key    string
		action corev1.UnsatisfiableConstraintAction
	}
	drawn := map[purpose]bool{}
	var constraints []corev1.TopologySpreadConstraint
	for range s.upTo(3) {
		constraint := s.spreadConstraint()
		if p := (purpose{constraint.TopologyKey, constraint.WhenUnsatisfiable}); !drawn[p] {
			drawn[p] = true
			constraints = append(constraints, constraint)
		}
	}
	return map[string]any{"defaultingType": config.ListDefaulting, "defaultConstraints": plain(constraints)}
}

// spreadConstraint draws what constraints of pods and default ones have in common.
func (s *source) spreadConstraint() corev1.TopologySpreadConstraint {
	policy := func() *corev1.NodeInclusionPolicy {
		return maybe(s, 50, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
	}
	return corev1.TopologySpreadConstraint{
		MaxSkew:            one(s, int32(1), 1, 1, 2, 3, 5),
		TopologyKey:        s.topologyKey(),
		WhenUnsatisfiable:  one(s, corev1.DoNotSchedule, corev1.ScheduleAnyway),
		NodeAffinityPolicy: policy(),
		NodeTaintsPolicy:   policy(),
	}
}

// drawServiceAffinityArgs draws labels that nodes of a service have in common.
func drawServiceAffinityArgs(s *source) map[string]any {
	labels := []string{one(s, zoneLabel, regionLabel)}
	if s.chance(30) {
		labels = append(labels, one(s, diskLabel, corev1.LabelHostname))
	}
	return map[string]any{"affinityLabels": plain(labels)}
}

// drawWholeDomainsArgs draws levels of domains.
func drawWholeDomainsArgs(s *source) map[string]any {
	levels := []string{zoneLabel}
	if s.chance(50) {
		levels = append([]string{regionLabel}, levels...)
	}
	return map[string]any{"levels": plain(levels)}
}

// date gives a pod its age, which it shares with many.
func date(s *source, pod *corev1.Pod) {
	pod.CreationTimestamp = metav1.Unix(1_700_000_000+int64(s.upTo(5)), 0)
}

func takePorts(s *source, pod *corev1.Pod) {
	pod.Spec.HostNetwork = s.chance(10)
	for _, container := range containers(pod) {
		if !s.chance(25) {
			continue
		}
		for range 1 + s.upTo(1) {
			container.Ports = append(container.Ports, corev1.ContainerPort{
				ContainerPort: one(s, int32(53), 80, 8080),
				HostPort:      one(s, int32(0), 53, 80, 8080),
				Protocol:      one(s, "", corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP),
				HostIP:        one(s, "", "0.0.0.0", "127.0.0.1", "10.0.0.1", "::", "::1"),
			})
		}
		if s.chance(20) { // twice the same one, as far as all addresses are the same
			again := container.Ports[0]
			again.HostIP = one(s, again.HostIP, "", "0.0.0.0", "::")
			container.Ports = append(container.Ports, again)
		}
	}
}
