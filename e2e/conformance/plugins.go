package conformance

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

// plugin is a plugin of muster, with what gives it something to decide. Any of the functions may be nil. They draw from
// vocabularies of few values, so that what one draws often meets what another one drew: nodes have the names
// nodeName(0) to nodeName(mostNodes-1), namespaces have namespaceNames.
type plugin struct {
	name string
	// absent is why kube-scheduler has no such plugin to compare it with, or one that does more.
	absent string
	// args draws arguments in the form of a configuration file. If they are required, there are no defaults.
	args     func(*source) map[string]any
	required bool
	// node and pod draw the fields that the plugin looks at; placed draws the fields that only a pod on a node has. A
	// node has its labels already, unless it has none; a pod its namespace, labels, controller and containers.
	node   func(*source, *corev1.Node)
	pod    func(*source, *corev1.Pod)
	placed func(*source, *corev1.Pod)
	// objects adds objects that the plugin looks up. Namespaces and what selects pods are there already. It must draw
	// names from a vocabulary: an object that is drawn again is how one of that name changes.
	objects func(*source, *Objects)
}

// plugins is the one list of muster's plugins, in the order in which they run.
func plugins() []plugin {
	return []plugin{
		{name: config.NodeUnschedulable, node: cordon},
		{name: config.NodeName, pod: nameNode},
		{name: config.TaintToleration, node: taint, pod: tolerate},
		{name: config.NodeAffinity, args: addAffinity, pod: selectNodes},
		{name: config.NodePorts, pod: takePorts},
		{name: config.NodeResourcesFit, args: drawFitArgs, node: offer, pod: ask, placed: resize},
		{name: config.VolumeRestrictions, pod: mountVolumes, placed: makeAttachable, objects: drawClaims},
		{name: config.NodeVolumeLimits, objects: drawDriversAndAttachments},
		{name: config.VolumeBinding, absent: "muster looks at volumes that are bound only", objects: drawVolumes},
		{name: config.VolumeZone, node: labelOldZone},
		{name: config.PodTopologySpread, args: drawSpreadArgs, node: completeKeys, pod: spreadPods, placed: herd},
		{name: config.InterPodAffinity, args: drawInterPodAffinityArgs, pod: drawPodAffinity},
		{name: config.NodeResourcesBalancedAllocation, args: drawBalancedAllocationArgs},
		{name: config.ImageLocality, node: pull, pod: run},
		{name: config.NodeDeclaredFeatures, node: declareFeatures, pod: needFeatures},
		{name: config.DynamicResources, node: offerDevices, pod: useDevices, objects: drawDevices},
		{name: config.NodeConditions, absent: "the node lifecycle controller turns conditions into taints", node: condition},
		{name: config.ServiceAffinity, absent: "it is gone", args: drawServiceAffinityArgs, required: true, pod: date},
		{
			name: config.LoadAware, absent: "it is Koordinator's", args: drawLoadArgs,
			node: customizeLoad, pod: customizeEstimate, placed: schedule,
		},
		{name: config.WholeDomains, absent: "it is muster's own", args: drawWholeDomainsArgs, required: true},
	}
}

// compared are the plugins that kube-scheduler has as well.
func compared() []plugin {
	return slices.DeleteFunc(plugins(), func(plugin plugin) bool { return plugin.absent != "" })
}
