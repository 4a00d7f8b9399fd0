package kubescheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
)

// The plugins that older versions had, and that muster has not by these names.
const (
	nodeLabel                   = "NodeLabel"
	nodePreferAvoidPods         = "NodePreferAvoidPods"
	nodeResourceLimits          = "NodeResourceLimits"
	nodeResourcesLeastAllocated = "NodeResourcesLeastAllocated"
	nodeResourcesMostAllocated  = "NodeResourcesMostAllocated"
	requestedToCapacityRatio    = "RequestedToCapacityRatio"
	selectorSpread              = "SelectorSpread"
	defaultPodTopologySpread    = "DefaultPodTopologySpread" // SelectorSpread before 1.19
)

// isRemoved reports whether v1beta2 removed a plugin.
func isRemoved(name string) bool {
	switch name {
	case nodeLabel, config.ServiceAffinity, nodePreferAvoidPods:
		return true
	default:
		return isRequests(name)
	}
}

// removed says why a plugin may not be there.
func (m *making) removed(name string) string {
	why := "kube-scheduler has no such plugin from v1beta2 on, and refuses it in " + m.version.name
	if isRequests(name) {
		why += ": NodeResourcesFit does the same with a scoringStrategy"
	}
	return why
}

// isOld reports whether a plugin of the document's version is another one today.
func (m *making) isOld(name string) bool {
	return m.version.old && (isRemoved(name) || name == nodeResourceLimits)
}

// isRequests reports whether a plugin scores by what is requested, as NodeResourcesFit does with a strategy.
func isRequests(name string) bool {
	return name == nodeResourcesLeastAllocated || name == nodeResourcesMostAllocated || name == requestedToCapacityRatio
}

// isSpread reports whether a plugin spreads the pods of a service, as PodTopologySpread does by its default constraints.
func isSpread(name string) bool { return name == selectorSpread || name == defaultPodTopologySpread }

// isVolumeLimit reports whether a plugin counts volumes of one kind, as NodeVolumeLimits does of all.
func isVolumeLimit(name string) bool {
	switch name {
	case "EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits":
		return true
	default:
		return false
	}
}

// nodeLabelArgs are the arguments of NodeLabel.
type nodeLabelArgs struct {
	PresentLabels           []string `json:"presentLabels"`
	AbsentLabels            []string `json:"absentLabels"`
	PresentLabelsPreference []string `json:"presentLabelsPreference"`
	AbsentLabelsPreference  []string `json:"absentLabelsPreference"`
}

// serviceAffinityArgs are the arguments of ServiceAffinity. muster has the first.
type serviceAffinityArgs struct {
	AffinityLabels               []string `json:"affinityLabels"`
	AntiAffinityLabelsPreference []string `json:"antiAffinityLabelsPreference"`
}

// oldFilter has the profile filter as a plugin did that is another one today.
func (m *making) oldFilter(e entry, made *set) {
	switch e.name {
	case nodeLabel:
		var args nodeLabelArgs
		if m.into(m.use(e.name), &args) {
			m.askForLabels(e, args, made)
		}
	case config.ServiceAffinity:
		var args serviceAffinityArgs
		if !m.into(m.use(e.name), &args) {
			return
		}
		if len(args.AffinityLabels) == 0 {
			m.warnf(e.at(), "%s is left out: it filters nothing without args.affinityLabels", e.name)
			return
		}
		made.enable(e.name, nil)
		const arg = "affinityLabels"
		m.setArg(e.name, arg, args.AffinityLabels, moved{"." + arg, m.old[e.name].path.Child(arg)})
	default:
		m.warnf(e.at(), "%s is left out: it does not filter", e.name)
	}
}

// askForLabels has all pods of the profile be on nodes that have labels, or have not.
func (m *making) askForLabels(e entry, args nodeLabelArgs, made *set) {
	expressions, written := m.expressions(args)
	if len(expressions) == 0 {
		m.warnf(e.at(), "%s is left out: it filters nothing without args.presentLabels or args.absentLabels", e.name)
		return
	}
	const arg = "addedAffinity"
	var affinity struct {
		AddedAffinity *corev1.NodeAffinity `json:"addedAffinity"`
	}
	if m.hasArg(config.NodeAffinity, arg) && !m.into(*m.argsOf(config.NodeAffinity), &affinity) {
		return
	}
	added := cmp.Or(affinity.AddedAffinity, &corev1.NodeAffinity{})
	if added.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		added.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, 1)}
	}
	var parts []moved
	terms := added.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	for i := range terms {
		first := len(terms[i].MatchExpressions)
		terms[i].MatchExpressions = append(terms[i].MatchExpressions, expressions...)
		for j, from := range written {
			const to = ".%s.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[%d].matchExpressions[%d].key"
			parts = append(parts, moved{fmt.Sprintf(to, arg, i, first+j), from})
		}
	}
	m.setArg(config.NodeAffinity, arg, added, parts...)
	m.warnf(e.at(), "%s becomes args.addedAffinity of NodeAffinity, which holds pods to their own node selectors, too", e.name)
	if !made.isDefault(config.NodeAffinity) {
		made.enable(config.NodeAffinity, nil)
	}
}

// expressions ask for the labels of NodeLabel. Each label is written at a path.
func (m *making) expressions(args nodeLabelArgs) (all []corev1.NodeSelectorRequirement, written []*field.Path) {
	path := m.old[nodeLabel].path
	for i, label := range args.PresentLabels {
		all = append(all, corev1.NodeSelectorRequirement{Key: label, Operator: corev1.NodeSelectorOpExists})
		written = append(written, path.Child("presentLabels").Index(i))
	}
	for i, label := range args.AbsentLabels {
		all = append(all, corev1.NodeSelectorRequirement{Key: label, Operator: corev1.NodeSelectorOpDoesNotExist})
		written = append(written, path.Child("absentLabels").Index(i))
	}
	return all, written
}

// oldScore refuses a score that muster cannot give. What scores by requests is seen to in requests.
func (m *making) oldScore(e entry) {
	switch e.name {
	case nodeLabel:
		var args nodeLabelArgs
		a := m.use(e.name)
		if !m.into(a, &args) {
			return
		}
		const instead = "muster has no such score; NodeAffinity prefers nodes by their labels, with args.addedAffinity"
		if len(args.PresentLabelsPreference) > 0 {
			m.refuse(a.path.Child("presentLabelsPreference"), args.PresentLabelsPreference, instead)
		}
		if len(args.AbsentLabelsPreference) > 0 {
			m.refuse(a.path.Child("absentLabelsPreference"), args.AbsentLabelsPreference, instead)
		}
		if len(args.PresentLabelsPreference)+len(args.AbsentLabelsPreference) == 0 {
			m.warnf(e.at(), "%s is left out: it scores nothing without a preference in its args", e.name)
		}
	case config.ServiceAffinity:
		var args serviceAffinityArgs
		a := m.use(e.name)
		if !m.into(a, &args) {
			return
		}
		if len(args.AntiAffinityLabelsPreference) == 0 {
			m.warnf(e.at(), "%s is left out: it scores nothing without args.antiAffinityLabelsPreference", e.name)
			return
		}
		m.refuse(a.path.Child("antiAffinityLabelsPreference"), args.AntiAffinityLabelsPreference,
			"muster has no such score; PodTopologySpread spreads over the values of a label, with args.defaultConstraints")
	case nodePreferAvoidPods:
		m.warnf(e.at(), "%s is left out: nothing reads the annotation any more that it read", e.name)
	case nodeResourceLimits:
		m.refuse(e.at(), e.name, "muster has no such score; NodeResourcesFit scores what pods request")
	}
}

// use returns the arguments of a plugin that is another one today, for what it becomes.
func (m *making) use(name string) pluginArgs {
	a, given := m.old[name]
	if !given {
		a = pluginArgs{path: m.from.path.Child("pluginConfig"), name: name}
	}
	m.used[name] = true
	return a
}

// leaveOldArgs names arguments of plugins that do not run.
func (m *making) leaveOldArgs() {
	for _, name := range slices.Sorted(maps.Keys(m.old)) {
		if !m.used[name] {
			m.warnf(m.old[name].path, "left out: %s does not run", name)
		}
	}
}
