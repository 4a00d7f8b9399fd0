package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

func TestPluginsOfAProfile(t *testing.T) {
	weight := func(w int32) *int32 { return &w }
	defaultFilters := []string{
		NodeUnschedulable, NodeName, TaintToleration, NodeAffinity, NodePorts, NodeResourcesFit,
		VolumeRestrictions, NodeVolumeLimits, VolumeBinding, VolumeZone, PodTopologySpread, InterPodAffinity,
		NodeDeclaredFeatures, DynamicResources,
	}
	defaultScores := []ScorePlugin{
		{TaintToleration, 3},
		{NodeAffinity, 2},
		{NodeResourcesFit, 1},
		{PodTopologySpread, 2},
		{InterPodAffinity, 2},
		{NodeResourcesBalancedAllocation, 1},
		{ImageLocality, 1},
	}
	// fit is the default scores with another one, or none, in the place of NodeResourcesFit.
	fit := func(instead ...ScorePlugin) []ScorePlugin {
		at := slices.Index(defaultScores, ScorePlugin{NodeResourcesFit, 1})
		return slices.Concat(defaultScores[:at], instead, defaultScores[at+1:])
	}

	tests := []struct {
		name    string
		plugins Plugins
		filters []string
		scores  []ScorePlugin
	}{
		{
			name:    "a profile that says nothing runs the defaults",
			filters: defaultFilters,
			scores:  defaultScores,
		},
		{
			name: "disabling a plugin at one point leaves it at the other",
			plugins: Plugins{
				Score: ScoreSet{Disabled: []Plugin{{Name: NodeResourcesFit}}},
			},
			filters: defaultFilters,
			scores:  fit(),
		},
		{
			name: "a star disables all defaults",
			plugins: Plugins{
				Filter: PluginSet{Disabled: []Plugin{{Name: AllPlugins}}},
				Score:  ScoreSet{Disabled: []Plugin{{Name: AllPlugins}}},
			},
		},
		{
			name: "what is enabled beside a star runs in the order given, with weight 1 unless said otherwise",
			plugins: Plugins{
				Filter: PluginSet{
					Enabled:  []Plugin{{Name: NodeResourcesFit}, {Name: NodeName}},
					Disabled: []Plugin{{Name: AllPlugins}},
				},
				Score: ScoreSet{
					Enabled:  []WeightedPlugin{{Name: NodeResourcesBalancedAllocation, Weight: weight(7)}, {Name: NodeResourcesFit}},
					Disabled: []Plugin{{Name: AllPlugins}},
				},
			},
			filters: []string{NodeResourcesFit, NodeName},
			scores:  []ScorePlugin{{NodeResourcesBalancedAllocation, 7}, {NodeResourcesFit, 1}},
		},
		{
			name: "enabling a default changes its weight and keeps its place",
			plugins: Plugins{
				Score: ScoreSet{Enabled: []WeightedPlugin{{Name: NodeResourcesFit, Weight: weight(5)}}},
			},
			filters: defaultFilters,
			scores:  fit(ScorePlugin{NodeResourcesFit, 5}),
		},
		{
			name: "disabling and enabling a default moves it to the end",
			plugins: Plugins{
				Score: ScoreSet{
					Enabled:  []WeightedPlugin{{Name: NodeResourcesFit, Weight: weight(5)}},
					Disabled: []Plugin{{Name: NodeResourcesFit}},
				},
			},
			filters: defaultFilters,
			scores:  append(fit(), ScorePlugin{NodeResourcesFit, 5}),
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			profile := &Profile{Plugins: test.plugins}
			if diff := cmp.Diff(test.filters, profile.FilterPlugins()); diff != "" {
				t.Errorf("filters, want (-) got (+):\n%s", diff)
			}
			if diff := cmp.Diff(test.scores, profile.ScorePlugins()); diff != "" {
				t.Errorf("scores, want (-) got (+):\n%s", diff)
			}
		})
	}
}

func TestAProfileWithSchedulerScoresKeepsItsOwn(t *testing.T) {
	p := Profile{NodeSelection: NodeSelectionScheduler, Plugins: Plugins{Score: ScoreSet{
		Enabled: []WeightedPlugin{{Name: LoadAware}}, Disabled: []Plugin{{Name: ImageLocality}},
	}}}
	want := []ScorePlugin{
		{TaintToleration, 3},
		{NodeAffinity, 2},
		{NodeResourcesFit, 1},
		{PodTopologySpread, 2},
		{InterPodAffinity, 2},
		{NodeResourcesBalancedAllocation, 1},
		{LoadAware, 1},
	}
	if diff := cmp.Diff(want, p.WithSchedulerScores().OwnScores()); diff != "" {
		t.Errorf("with kube-scheduler's scores (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]ScorePlugin{{LoadAware, 1}}, p.OwnScores()); diff != "" {
		t.Errorf("the profile itself (-want +got):\n%s", diff)
	}
}

func TestEveryEnabledPluginRunsOnceAndNoOtherThatIsDisabled(t *testing.T) {
	names, defaults := pluginNames(pluginsAt(atFilter, OnRequest)), pluginNames(pluginsAt(atFilter, ByDefault))
	list := func(names []string) *rapid.Generator[[]Plugin] {
		name := rapid.Map(rapid.SampledFrom(names), func(name string) Plugin { return Plugin{Name: name} })
		return rapid.SliceOfDistinct(name, func(plugin Plugin) string { return plugin.Name })
	}
	seeded.Check(t, func(t *rapid.T) {
		set := PluginSet{
			Enabled:  list(names).Draw(t, "enabled"),
			Disabled: list(append(names, AllPlugins)).Draw(t, "disabled"),
		}
		runs := map[string]int{}
		for _, name := range (&Profile{Plugins: Plugins{Filter: set}}).FilterPlugins() {
			runs[name]++
		}
		for _, name := range names {
			enabled := indexOf(set.Enabled, name) >= 0
			disabled := indexOf(set.Disabled, name) >= 0 || indexOf(set.Disabled, AllPlugins) >= 0
			want := 0
			if enabled || !disabled && slices.Contains(defaults, name) {
				want = 1
			}
			if runs[name] != want {
				t.Errorf("%s runs %d times, want %d", name, runs[name], want)
			}
		}
	})
}

func TestArgsOfAProfileThatHasNoneAreTheDefaults(t *testing.T) {
	profile := &Profile{}
	resources := []ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}
	if diff := cmp.Diff(
		&NodeResourcesFitArgs{ScoringStrategy: ScoringStrategy{Type: LeastAllocated, Resources: resources}}, profile.NodeResourcesFitArgs(),
	); diff != "" {
		t.Errorf("NodeResourcesFit, want (-) got (+):\n%s", diff)
	}
	if diff := cmp.Diff(
		&NodeResourcesBalancedAllocationArgs{Resources: resources}, profile.NodeResourcesBalancedAllocationArgs(),
	); diff != "" {
		t.Errorf("NodeResourcesBalancedAllocation, want (-) got (+):\n%s", diff)
	}
	if diff := cmp.Diff(&NodeAffinityArgs{}, profile.NodeAffinityArgs()); diff != "" {
		t.Errorf("NodeAffinity, want (-) got (+):\n%s", diff)
	}
}

func TestArgsAreSpelledLikeThoseOfKubeScheduler(t *testing.T) {
	profile := &Default().Profiles[0]
	for ours, theirs := range map[any]any{
		profile.NodeResourcesFitArgs():                &schedulerv1.NodeResourcesFitArgs{},
		profile.NodeResourcesBalancedAllocationArgs(): &schedulerv1.NodeResourcesBalancedAllocationArgs{},
		profile.NodeAffinityArgs():                    &schedulerv1.NodeAffinityArgs{},
		profile.InterPodAffinityArgs():                &schedulerv1.InterPodAffinityArgs{},
		profile.PodTopologySpreadArgs():               &schedulerv1.PodTopologySpreadArgs{},
	} {
		want, err := json.Marshal(ours)
		if err != nil {
			t.Fatal(err)
		}
		decoder := json.NewDecoder(bytes.NewReader(want))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(theirs); err != nil {
			t.Errorf("%T: %v", theirs, err)
		}
		got, err := json.Marshal(theirs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%T, ours (-) theirs (+):\n%s", theirs, diff)
		}
	}
}
