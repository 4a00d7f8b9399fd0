package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

// Features that kubelets declare.
const (
	userNamespacesWithHostNetwork = "UserNamespacesHostNetworkSupport"
	restartAllContainers          = "RestartAllContainersOnContainerExits"
)

// declaring has the kubelet of the node declare features, in the order of their names.
func declaring(features ...string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.DeclaredFeatures = features }
}

// inUserNamespace gives the pod a user namespace of its own, with the host's network.
func inUserNamespace(p *corev1.Pod) {
	hostUsers := false
	p.Spec.HostNetwork, p.Spec.HostUsers = true, &hostUsers
}

// restartingAll has one container of the pod restart all of them when it ends.
func restartingAll(p *corev1.Pod) {
	p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestartAllContainers}}
}

func TestNodeDeclaredFeatures(t *testing.T) {
	const differs = "node(s) didn't match Pod's required features"
	on := func(n *corev1.Node, change ...func(*corev1.Pod)) scene { return scene{node: n, pod: pod(change...)} }
	checkVerdicts(t, config.NodeDeclaredFeatures, []verdictCase{
		{name: "a pod that needs no feature fits everywhere", everywhere: true},
		{name: "so does one with the host's network alone", everywhere: true, scene: on(node(), func(p *corev1.Pod) {
			p.Spec.HostNetwork = true
		})},
		{name: "a node that declares what the pod needs", scene: on(node(declaring(userNamespacesWithHostNetwork)), inUserNamespace)},
		{name: "a node that declares nothing, and eviction does not help", scene: on(node(), inUserNamespace), reason: differs},
		{name: "a node that declares something else", scene: on(node(declaring(restartAllContainers)), inUserNamespace), reason: differs},
		{name: "a feature that is not known says nothing", scene: on(node(declaring("Another")), inUserNamespace), reason: differs},
		{
			name:   "a node with one of two features",
			scene:  on(node(declaring(restartAllContainers)), inUserNamespace, restartingAll),
			reason: differs,
		},
		{
			name:  "a node with both, and with more",
			scene: on(node(declaring("Another", restartAllContainers, userNamespacesWithHostNetwork)), inUserNamespace, restartingAll),
		},
	})
}
