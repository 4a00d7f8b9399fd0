package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestNodeAffinity(t *testing.T) {
	const differs = "node(s) didn't match Pod's node affinity/selector"
	const addedDiffers = "node(s) didn't match scheduler-enforced node affinity"
	zoneA := node(labelled("zone", "a"), labelled("level", "5"))
	on := func(node *corev1.Node, change ...func(*corev1.Pod)) scene {
		return scene{node: node, pod: pod(change...)}
	}
	asked := func(terms ...corev1.NodeSelectorTerm) scene { return on(zoneA, requiring(terms...)) }
	added := &config.NodeAffinityArgs{AddedAffinity: required(label("zone", corev1.NodeSelectorOpIn, "a", "b"))}
	preference := preferredTerm(1, label("zone", corev1.NodeSelectorOpIn, "b"))
	checkVerdicts(t, config.NodeAffinity, []verdictCase{
		{name: "a pod without selector and affinity fits everywhere", everywhere: true},
		{name: "an empty node affinity fits everywhere", everywhere: true, scene: on(zoneA, func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
		})},
		{name: "a preference keeps no pod off", everywhere: true, scene: on(zoneA, preferring(preference))},
		{name: "an empty selector matches every node", scene: on(zoneA, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{} })},
		{name: "the selector matches", scene: on(zoneA, selecting("zone", "a"))},
		{name: "the selector does not match, and eviction does not help", scene: on(zoneA, selecting("zone", "b")), reason: differs},
		{name: "a node without labels matches no selector", scene: on(node(), selecting("zone", "a")), reason: differs},
		{
			name:   "selector and affinity must both match",
			scene:  on(zoneA, selecting("zone", "a"), requiring(label("zone", corev1.NodeSelectorOpIn, "b"))),
			reason: differs,
		},

		{name: "In matches one of the values", scene: asked(label("zone", corev1.NodeSelectorOpIn, "b", "a"))},
		{name: "NotIn does not match one of the values", scene: asked(label("zone", corev1.NodeSelectorOpNotIn, "a")), reason: differs},
		{name: "NotIn matches a node without the label", scene: asked(label("disk", corev1.NodeSelectorOpNotIn, "ssd"))},
		{name: "Exists wants the label", scene: asked(label("disk", corev1.NodeSelectorOpExists)), reason: differs},
		{name: "DoesNotExist wants it absent", scene: asked(label("disk", corev1.NodeSelectorOpDoesNotExist))},
		{name: "Gt is greater", scene: asked(label("level", corev1.NodeSelectorOpGt, "4"))},
		{name: "Gt is not equal", scene: asked(label("level", corev1.NodeSelectorOpGt, "5")), reason: differs},
		{name: "Lt is less", scene: asked(label("level", corev1.NodeSelectorOpLt, "6"))},
		{name: "Lt compares no words", scene: asked(label("zone", corev1.NodeSelectorOpLt, "6")), reason: differs},

		{name: "the name of the node matches", scene: asked(named(corev1.NodeSelectorOpIn, "node"))},
		{name: "the name of the node does not match", scene: asked(named(corev1.NodeSelectorOpIn, "another")), reason: differs},
		{name: "the name may be anything but one", scene: asked(named(corev1.NodeSelectorOpNotIn, "another"))},
		{
			name:  "one term that matches is enough",
			scene: asked(label("zone", corev1.NodeSelectorOpIn, "b"), named(corev1.NodeSelectorOpIn, "node")),
		},
		{name: "all of a term must match", reason: differs, scene: asked(corev1.NodeSelectorTerm{
			MatchExpressions: label("zone", corev1.NodeSelectorOpIn, "a").MatchExpressions,
			MatchFields:      named(corev1.NodeSelectorOpIn, "another").MatchFields,
		})},
		{name: "no terms match nothing", scene: asked(), reason: differs},
		{name: "an empty term matches nothing", scene: asked(corev1.NodeSelectorTerm{}), reason: differs},
		{name: "a malformed term matches nothing", scene: asked(label("level", corev1.NodeSelectorOpGt, "high")), reason: differs},
		{
			name:  "a malformed term does not spoil the others",
			scene: asked(label("level", corev1.NodeSelectorOpGt, "high"), label("zone", corev1.NodeSelectorOpIn, "a")),
		},

		{name: "an added affinity holds every pod", args: added, scene: scene{node: node(labelled("zone", "c"))}, reason: addedDiffers},
		{name: "an added affinity that matches", args: added, scene: on(zoneA)},
		{name: "the pod's own affinity holds beside an added one", args: added, scene: on(zoneA, selecting("zone", "b")), reason: differs},
		{name: "an added affinity comes first", args: added, scene: on(node(), selecting("zone", "b")), reason: addedDiffers},
		{name: "an added preference keeps no pod off", args: &config.NodeAffinityArgs{AddedAffinity: preferred(preference)}, everywhere: true},
	})
}
