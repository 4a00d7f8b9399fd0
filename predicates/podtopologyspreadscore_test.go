package predicates

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/config"
)

// The weight of a pod is ln 4 = 1.39 with two domains and ln 5 = 1.61 with three.
func TestPodTopologySpreadScore(t *testing.T) {
	const soft, ignore = corev1.ScheduleAnyway, corev1.NodeInclusionPolicyIgnore
	type ratings = map[string]int64
	nodes := func(first *corev1.Node, others ...*corev1.Node) scene { return scene{node: first, others: others} }
	zones := func() scene { return nodes(inZone("a", "a"), inZone("b", "b")) }
	with := func(s scene, pod *corev1.Pod, placed ...*corev1.Pod) scene {
		s.pod, s.placed = pod, placed
		return s
	}
	byZone := func(change ...func(*corev1.TopologySpreadConstraint)) *corev1.Pod {
		return web("", spreadBy("zone", 1, soft, change...))
	}
	host := func(name string, change ...func(*corev1.Node)) *corev1.Node {
		return node(append([]func(*corev1.Node){called(name), labelled(corev1.LabelHostname, name)}, change...)...)
	}
	in := func(zone string) func(*corev1.Node) { return labelled(corev1.LabelTopologyZone, zone) }
	ssd := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }
	// byDefault is a pod of app web that has no constraints, but a service.
	byDefault := func(s scene, placed ...*corev1.Pod) scene {
		s.objects = []runtime.Object{service("web", map[string]string{"app": "web"})}
		return with(s, web(""), placed...)
	}
	list := &config.PodTopologySpreadArgs{
		DefaultingType: config.ListDefaulting,
		DefaultConstraints: []corev1.TopologySpreadConstraint{
			{TopologyKey: corev1.LabelHostname, MaxSkew: 3, WhenUnsatisfiable: soft},
			{TopologyKey: corev1.LabelTopologyZone, MaxSkew: 5, WhenUnsatisfiable: soft},
		},
	}

	for _, test := range []struct {
		name  string
		args  config.PluginArgs // nil stands for the default
		scene scene
		want  ratings // of nodes; nil when all are alike to the pod
	}{
		{name: "a hard constraint prefers nothing", scene: with(zones(), web("", spreadBy("zone", 1, corev1.DoNotSchedule)), web("a"))},
		{name: "a selector that does not parse prefers nothing", scene: with(zones(), byZone(about("no value: of a label")), web("a"))},
		{name: "zones without pods are the best there can be", scene: with(zones(), byZone()), want: ratings{"a": 100, "b": 100}},
		{name: "an empty zone is best", scene: with(zones(), byZone(), web("a")), want: ratings{"a": 0, "b": 100}},
		{
			// 3 pods cost 4.16, 1 pod 1.39: (4+1-4)/4 and (4+1-1)/4.
			name: "zones are rated by the cost of their pods, which is rounded", scene: with(
				zones(), byZone(), web("a"), web("a"), web("a"), web("b"),
			),
			want: ratings{"a": 25, "b": 100},
		},
		{
			// 4 more each: 6.77 and 4: (7+4-7)/7.
			name: "a greater skew waters differences down", scene: with(zones(), web("", spreadBy("zone", 5, soft)), web("a"), web("a")),
			want: ratings{"a": 57, "b": 100},
		},
		{
			name: "pods of others and those on their way out do not count", scene: with(
				zones(), byZone(), pod(), web("a", terminating), web("a", within("other")),
			),
			want: ratings{"a": 100, "b": 100},
		},
		{
			name: "a node without the label is worst", scene: with(nodes(inZone("a", "a"), node(called("none"))), byZone(), web("a"), web("none")),
			want: ratings{"a": 100, "none": 0},
		},
		{
			name: "its pods do not count elsewhere", want: ratings{"a": 100, "b": 100, "half": 0},
			scene: with(nodes(inZone("a", "a", labelled("rack", "1")), inZone("b", "b", labelled("rack", "2")), inZone("a", "half")),
				web("", spreadBy("zone", 1, soft), spreadBy("rack", 1, soft)), web("half")),
		},
		{
			name: "pods on nodes that the selector of nodes leaves out do not count", scene: with(
				zones(), web("", ssd, spreadBy("zone", 1, soft)), web("a"),
			),
			want: ratings{"a": 100, "b": 100},
		},
		{
			name: "they do when the policy ignores affinity", scene: with(
				zones(), web("", ssd, spreadBy("zone", 1, soft, includingNodes(ignore, ignore))), web("a"),
			),
			want: ratings{"a": 0, "b": 100},
		},
		{
			// 2.77 and 1.39: (3+1-3)/3.
			name: "hosts are counted one by one", scene: with(
				nodes(host("x"), host("y")), web("", spreadBy(corev1.LabelHostname, 1, soft)), web("x"), web("x"), web("y"),
			),
			want: ratings{"x": 33, "y": 100},
		},
		{
			// Two hosts are compared. 4.16 and 1.39: (4+1-4)/4.
			name: "a node without the name of a host is no host", want: ratings{"x": 25, "y": 100, "z": 0},
			scene: with(
				nodes(host("x"), host("y"), node(called("z"))), web("", spreadBy(corev1.LabelHostname, 1, soft)), web("x"), web("x"),
				web("x"), web("y"),
			),
		},
		{
			name:  "a host counts its pods though the selector of nodes leaves it out",
			scene: with(nodes(host("x"), host("y")), web("", ssd, spreadBy(corev1.LabelHostname, 1, soft)), web("x")),
			want:  ratings{"x": 0, "y": 100},
		},
		{
			name: "hosts of the same name are counted one by one as well", want: ratings{"x": 0, "y": 100},
			scene: with(
				nodes(host("x"), node(called("y"), labelled(corev1.LabelHostname, "x"))), web("", spreadBy(corev1.LabelHostname, 1, soft)), web("x"),
			),
		},
		{
			// x: 1.39+2 and 1.39+4 are 8.77, y: 2 and 4: (9+6-9)/9.
			name: "by default pods of a service are spread over hosts and zones", scene: byDefault(
				nodes(host("x", in("a")), host("y", in("b"))), web("x"),
			),
			want: ratings{"x": 66, "y": 100},
		},
		{
			name: "by default without services or a controller nothing is preferred", scene: with(
				nodes(host("x", in("a")), host("y", in("b"))), web(""), web("x"),
			),
			want: ratings{"x": 0, "y": 0},
		},
		{
			// x: 1.61+2 and 1.61+4 are 9.22, y: 2 and 4, z: 2: (9+2-9)/9 and (9+2-6)/9.
			name:  "by the system's default nodes without a zone are rated too, and are one more zone",
			scene: byDefault(nodes(host("x", in("a")), host("y", in("b")), host("z")), web("x")),
			want:  ratings{"x": 22, "y": 55, "z": 100},
		},
		{
			// Two zones and three hosts. x: 2 and 1.39+4 are 7.39, y: 2 and 4, z: 1.61+2 is 3.61: (7+4-7)/7 and (7+4-6)/7.
			name: "and it is the zone of the empty label", scene: byDefault(nodes(host("x", in("")), host("y", in("b")), host("z")), web("z")),
			want: ratings{"x": 57, "y": 71, "z": 100},
		},
		{
			name: "by a listed default they are the worst", args: list, scene: byDefault(
				nodes(host("x", in("a")), host("y", in("b")), host("z")), web("x"),
			),
			want: ratings{"x": 66, "y": 100, "z": 0},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			score, err := newPodTopologySpreadScore(profileWith(config.PodTopologySpread, test.args))
			if err != nil {
				t.Fatal(err)
			}
			snap, _, pod := test.scene.raise(t)
			rating := score.For(pod, snap)
			if (rating.Among == nil) != (test.want == nil) {
				t.Fatalf("it tells nodes apart: %v", rating.Among != nil)
			}
			if rating.Among == nil {
				return
			}
			if diff := cmp.Diff(test.want, rateAmongAll(rating, snap)); diff != "" {
				t.Errorf("ratings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASpreadIsRatedByTheZonesThatAreCompared(t *testing.T) {
	nodes := scene{
		node: inZone("a", "a"), others: []*corev1.Node{inZone("b", "b"), inZone("c", "c"), inZone("d", "d"), inZone("e", "e"), inZone("f", "f")},
		placed: []*corev1.Pod{web("a"), web("a"), web("b"), web("c")}, pod: web("", spreadBy("zone", 1, corev1.ScheduleAnyway)),
	}
	score, err := newPodTopologySpreadScore(&config.Profile{})
	if err != nil {
		t.Fatal(err)
	}
	snap, _, pod := nodes.raise(t)
	comparison := score.For(pod, snap).Among
	comparison.Update(snap, indexes(snap))
	for _, test := range []struct {
		among string
		want  []int64
	}{
		{"ab", []int64{33, 100}},                      // ln 4: 2.77 and 1.39
		{"bc", []int64{100, 100}},                     // ln 4: 1.39 both
		{"abcdef", []int64{0, 50, 50, 100, 100, 100}}, // ln 8: 4.16, 2.08, 2.08 and nothing
		{"a", []int64{100}},
		{"", []int64{}},
	} {
		var among []int32
		for _, name := range test.among {
			among = append(among, snap.NodeByName(string(name)).Index)
		}
		got := make([]int64, len(among))
		comparison.Rate(among, nil, got)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("among %q (-want +got):\n%s", test.among, diff)
		}
	}
	all := indexes(snap)
	ratings := make([]int64, len(all))
	if allocations := testing.AllocsPerRun(100, func() { comparison.Rate(all, nil, ratings) }); allocations != 0 {
		t.Errorf("to rate nodes allocates %v times", allocations)
	}
}
