package predicates

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"muster.dev/muster/api/config"
)

func TestAProfileThatCannotBeBuiltSaysWhy(t *testing.T) {
	enabled := func(name string) config.PluginSet {
		return config.PluginSet{Enabled: []config.Plugin{{Name: name}}}
	}
	scoring := func(name string) config.ScoreSet {
		return config.ScoreSet{Enabled: []config.WeightedPlugin{{Name: name}}}
	}
	noNumber := required(label("level", corev1.NodeSelectorOpGt, "high"))
	for _, test := range []struct {
		name    string
		profile *config.Profile
		want    string
	}{
		{"a filter that is not known", &config.Profile{Plugins: config.Plugins{Filter: enabled("Nope")}}, `plugin "Nope" is not known`},
		{"a score that is not known", &config.Profile{Plugins: config.Plugins{Score: scoring("Nope")}}, `plugin "Nope" is not known`},
		{
			"a filter that only scores", &config.Profile{Plugins: config.Plugins{Filter: enabled(config.NodeResourcesBalancedAllocation)}},
			`plugin "NodeResourcesBalancedAllocation" does not filter`,
		},
		{
			"a score that only filters", &config.Profile{Plugins: config.Plugins{Score: scoring(config.NodeName)}},
			`plugin "NodeName" does not score`,
		},
		{
			"an added affinity that does not parse", profileWith(config.NodeAffinity, &config.NodeAffinityArgs{AddedAffinity: noNumber}),
			`plugin "NodeAffinity": addedAffinity: nodeSelectorTerms[0].matchExpressions[0].values[0]: Invalid value: "high": for 'Gt', 'Lt' ` +
				`operators, the value must be an integer`,
		},
		{
			"a scoring strategy that is not known",
			profileWith(config.NodeResourcesFit, &config.NodeResourcesFitArgs{ScoringStrategy: config.ScoringStrategy{Type: "Nope"}}),
			`plugin "NodeResourcesFit": scoringStrategy.type: "Nope" is not known`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			profile, err := NewProfile(test.profile)
			if err == nil {
				t.Fatalf("there is no error, but %+v", profile)
			}
			if err.Error() != test.want {
				t.Errorf("error %q, want %q", err, test.want)
			}
		})
	}
}

func TestTheFirstVerdictAgainstANodeCounts(t *testing.T) {
	everythingWrong := scene{
		node: node(cordoned, tainted("dedicated", "gpu", corev1.TaintEffectNoSchedule), offering("cpu", "1")),
		pod:  pod(asking("cpu", "2"), selecting("zone", "a")),
	}
	disabled := func(names ...string) config.PluginSet {
		var set config.PluginSet
		for _, name := range names {
			set.Disabled = append(set.Disabled, config.Plugin{Name: name})
		}
		return set
	}
	for _, test := range []struct {
		name    string
		filters config.PluginSet
		want    string
	}{
		{"in the default order the cordon comes first", config.PluginSet{}, "node(s) were unschedulable"},
		{"then the taints", disabled(config.NodeUnschedulable), "node(s) had untolerated taint(s)"},
		{
			"then the selector", disabled(config.NodeUnschedulable, config.TaintToleration), "node(s) didn't match Pod's node affinity/selector",
		},
		{"resources come last", disabled(config.NodeUnschedulable, config.TaintToleration, config.NodeAffinity), "Too many pods"},
		{"without predicates every pod fits", disabled(config.AllPlugins), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			profile, err := NewProfile(&config.Profile{Plugins: config.Plugins{Filter: test.filters}})
			if err != nil {
				t.Fatal(err)
			}
			snap, node, pod := everythingWrong.raise(t)
			if got := profile.Reason(profile.Judge(pod, snap).Verdict(node), pod); got != test.want {
				t.Errorf("reason %q, want %q", got, test.want)
			}
		})
	}
}

func TestATotalIsTheWeightedSumOfTheScores(t *testing.T) {
	// weigh turns on the scores of resources alone. A weight of 0 stands for the default.
	weigh := func(fit, balanced int32) config.ScoreSet {
		set := config.ScoreSet{Disabled: []config.Plugin{{Name: config.AllPlugins}}}
		for name, weight := range map[string]int32{config.NodeResourcesFit: fit, config.NodeResourcesBalancedAllocation: balanced} {
			plugin := config.WeightedPlugin{Name: name}
			if weight > 0 {
				plugin.Weight = &weight
			}
			set.Enabled = append(set.Enabled, plugin)
		}
		return set
	}
	// LeastAllocated: CPU 40, memory 100 less 200 MiB of 10 GiB, 98: 138/2 = 69. Balanced: after 0.6, 0: 70,
	// before 100: 50 + 20/2 = 60.
	tilting := scene{node: node(offering("cpu", "10", "memory", "10Gi")), pod: pod(asking("cpu", "6"))}
	for _, test := range []struct {
		name   string
		scores config.ScoreSet
		scene  scene
		want   int64
	}{
		{name: "each weighs 1 by default", scores: weigh(0, 0), scene: tilting, want: 69 + 60},
		{name: "weights multiply", scores: weigh(3, 10), scene: tilting, want: 3*69 + 10*60},
		// Balanced rates all nodes alike; LeastAllocated: (99+98)/2 = 98 of 200.
		{name: "a score that rates all alike adds nothing", scores: weigh(0, 0), scene: scene{node: tilting.node}, want: 98},
		{
			name: "no scores total 0", scores: config.ScoreSet{Disabled: []config.Plugin{{Name: config.AllPlugins}}},
			scene: tilting, want: 0,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			profile, err := NewProfile(&config.Profile{Plugins: config.Plugins{Score: test.scores}})
			if err != nil {
				t.Fatal(err)
			}
			snap, node, pod := test.scene.raise(t)
			total := []int64{0}
			profile.Judge(pod, snap).Rank([]int32{node.Index}, total)
			if total[0] != test.want {
				t.Errorf("total %d, want %d", total[0], test.want)
			}
		})
	}
}

// Two things are left out: node affinity terms, of pods and of volumes, since component-helpers builds a map of
// fields for each node that it matches, and disks of in-tree plugins on a node, which are
// translated each time.
func TestJudgingANodeAllocatesNothing(t *testing.T) {
	crowded := scene{
		node: node(
			labelled("zone", "a"), labelled(corev1.LabelTopologyZone, "a"), tainted("dedicated", "gpu", corev1.TaintEffectNoSchedule),
			declaring(userNamespacesWithHostNetwork),
			offering("cpu", "64", "memory", "256Gi", "ephemeral-storage", "1Ti", "pods", "110", "example.com/gpu", "8"),
		),
		placed: []*corev1.Pod{
			pod(taking("", "", 80), asking("cpu", "1", "example.com/gpu", "1")), pod(claiming("logs"), mounting(rbd("pool", "image", false, "a"))),
		},
		objects: []runtime.Object{
			csiNode("node", ebsDriver, 3), attachment("va", "node", ebsDriver, "pv-logs"),
			claim("data", boundTo("pv-data")), persistentVolume("pv-data", attachedBy(ebsDriver, "vol-data"), marked(corev1.LabelTopologyZone, "a")),
			claim("logs", boundTo("pv-logs")), persistentVolume("pv-logs", attachedBy(ebsDriver, "vol-more")),
		},
		pod: pod(
			claiming("data"), mounting(ebs("vol-data")), spreadBy("zone", 1, corev1.DoNotSchedule),
			asking("cpu", "1", "memory", "1Gi", "ephemeral-storage", "1Gi", "example.com/gpu", "2"), taking("", "", 8080), selecting("zone", "a"),
			inUserNamespace, tolerating(corev1.Toleration{Key: "dedicated", Value: "gpu"}), func(p *corev1.Pod) { p.Spec.NodeName = "node" },
		),
	}
	resources := []config.ResourceSpec{
		{Name: "cpu", Weight: 1},
		{Name: "memory", Weight: 1},
		{Name: "ephemeral-storage", Weight: 1},
		{Name: "example.com/gpu", Weight: 1},
	}
	for _, strategy := range []config.ScoringStrategyType{config.LeastAllocated, config.MostAllocated} {
		profile, err := NewProfile(&config.Profile{PluginConfig: []config.PluginConfig{
			{
				Name: config.NodeResourcesFit,
				Args: &config.NodeResourcesFitArgs{ScoringStrategy: config.ScoringStrategy{Type: strategy, Resources: resources}},
			},
			{Name: config.NodeResourcesBalancedAllocation, Args: &config.NodeResourcesBalancedAllocationArgs{Resources: resources}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		snap, node, pod := crowded.raise(t)
		j := profile.Judge(pod, snap)
		for i, check := range j.checks {
			if name := profile.predicates[i].Name(); check == nil && name != config.VolumeBinding && name != config.DynamicResources {
				t.Fatalf("%s is not asked", profile.predicates[i].Name())
			}
		}
		if verdict := j.Verdict(node); verdict != Fits {
			t.Fatalf("verdict %d", verdict)
		}
		if allocations := testing.AllocsPerRun(100, func() { j.Verdict(node) }); allocations != 0 {
			t.Errorf("%s: a verdict allocates %v times", strategy, allocations)
		}
		if allocations := testing.AllocsPerRun(100, func() { j.alone(node) }); allocations != 0 {
			t.Errorf("%s: a total allocates %v times", strategy, allocations)
		}
	}
}
