package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
)

func TestNodeAffinityScore(t *testing.T) {
	const in = corev1.NodeSelectorOpIn
	zone := func(weight int32, zones ...string) corev1.PreferredSchedulingTerm {
		return preferredTerm(weight, label("zone", in, zones...))
	}
	zoneA, zoneB := node(labelled("zone", "a")), node(called("other"), labelled("zone", "b"))
	beside := func(terms ...corev1.PreferredSchedulingTerm) scene {
		return scene{node: zoneA, others: []*corev1.Node{zoneB}, pod: pod(preferring(terms...))}
	}
	added := &config.NodeAffinityArgs{AddedAffinity: preferred(zone(30, "a"))}
	checkRates(t, config.NodeAffinity, []rateCase{
		{name: "a pod that prefers no nodes finds them alike", alike: true},
		{name: "so does one with an empty list of preferences", alike: true, scene: beside()},
		{name: "a requirement is no preference", alike: true, scene: scene{pod: pod(requiring(label("zone", in, "a")))}},
		{name: "the only node that matches is the best", scene: beside(zone(1, "a")), want: 100},
		{name: "one that does not match beside one that does is the worst", scene: beside(zone(1, "b")), want: 0},
		{name: "where none matches all are the worst", scene: beside(zone(1, "c")), want: 0},
		{name: "where all match all are the best", scene: beside(zone(1, "a", "b")), want: 100},
		// 30 of 90.
		{name: "the others are rated in proportion to the best", scene: beside(zone(30, "a"), zone(90, "b")), want: 33},
		// 50 of 90.
		{name: "weights add up", scene: beside(zone(30, "a"), zone(20, "a"), zone(90, "b")), want: 55},
		{name: "the name of the node can be preferred", scene: beside(preferredTerm(5, named(in, "node"))), want: 100},
		{name: "an empty term matches nothing", scene: beside(preferredTerm(100, corev1.NodeSelectorTerm{}), zone(1, "b")), want: 0},
		{name: "a term without a weight adds nothing", scene: beside(zone(0, "a"), zone(1, "b")), want: 0},
		{
			name: "with a term that does not parse there are no preferences", alike: true,
			scene: beside(zone(1, "a"), preferredTerm(1, label("zone", corev1.NodeSelectorOpGt, "high"))),
		},
		{
			name:  "the preferences of the profile count for every pod",
			args:  added,
			scene: scene{node: zoneA, others: []*corev1.Node{zoneB}},
			want:  100,
		},
		// 30 of 90.
		{name: "the terms of the pod are added to them", args: added, scene: beside(zone(90, "b")), want: 33},
		{
			name: "the requirements of the profile are no preferences", alike: true,
			args: &config.NodeAffinityArgs{AddedAffinity: required(label("zone", in, "a"))},
		},
	})
}
