package conformance

import (
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config/v1alpha2"
)

// plugin is a plugin that both sides have, with what gives it something to decide. Any
// of the functions may be nil.
type plugin struct {
	name string
	// args draws arguments in the form of a configuration file.
	args func(*source) map[string]any
	// node and pod draw the fields that the plugin looks at; placed those that only a
	// pod on a node has.
	node   func(*source, *corev1.Node)
	pod    func(*source, *corev1.Pod)
	placed func(*source, *corev1.Pod)
}

// plugins is the one list of what is held against kube-scheduler, in the order in which
// it runs.
func plugins() []plugin {
	return []plugin{
		{name: v1alpha2.NodeUnschedulable, node: cordon},
		{name: v1alpha2.NodeName, pod: nameNode},
		{name: v1alpha2.TaintToleration, node: taint, pod: tolerate},
		{name: v1alpha2.NodeAffinity, args: addAffinity, node: label, pod: selectNodes},
		{name: v1alpha2.NodePorts, pod: takePorts},
		{name: v1alpha2.NodeResourcesFit, args: drawFitArgs, node: offer, pod: ask, placed: resize},
		{name: v1alpha2.NodeResourcesBalancedAllocation, args: drawBalancedAllocationArgs},
	}
}
