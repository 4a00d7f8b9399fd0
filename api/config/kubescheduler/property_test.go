package kubescheduler

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/api/seeded"
)

type (
	plugin = map[string]any
	object = map[string]any
)

func TestDocumentsOfV1AndOfV1beta3AreConvertedAlike(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		names := append(slices.Collect(maps.Keys(defaultScores("v1"))), "Mine", "Coscheduling", "PrioritySort", "SelectorSpread", "EBSLimits")
		slices.Sort(names)
		set := func(label string) object {
			return object{
				"enabled":  drawPlugins(t, label+" enabled", names, true),
				"disabled": drawPlugins(t, label+" disabled", append(names, "*"), false),
			}
		}
		var profiles []any
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID).Draw(t, "profiles") {
			plugins := object{}
			points := []string{"queueSort", "preFilter", "filter", "postFilter", "score", "permit", "multiPoint"}
			for _, point := range rapid.SliceOfDistinct(rapid.SampledFrom(points), rapid.ID).Draw(t, "points") {
				plugins[point] = set(point)
			}
			profiles = append(profiles, object{
				"schedulerName": name, "plugins": plugins,
				"pluginConfig": []any{
					object{"name": "Coscheduling", "args": object{"permitWaitingTimeSeconds": rapid.IntRange(-1, 700).Draw(t, "seconds")}},
					object{"name": "InterPodAffinity", "args": object{"hardPodAffinityWeight": rapid.IntRange(0, 100).Draw(t, "weight")}},
				},
			})
		}
		outcome := func(version string) (string, []string, string) {
			document, warnings, err := Convert(document(t, version, profiles))
			said := ""
			if err != nil {
				said = err.Error()
			}
			for i := range warnings {
				warnings[i] = strings.ReplaceAll(warnings[i], version, "VERSION")
			}
			return string(document), warnings, strings.ReplaceAll(said, version, "VERSION")
		}
		document, warnings, err := outcome("v1")
		twin, its, refused := outcome("v1beta3")
		if diff := cmp.Diff([]string{document, err}, []string{twin, refused}); diff != "" {
			t.Errorf("v1 (-) and v1beta3 (+) differ:\n%s", diff)
		}
		if diff := cmp.Diff(warnings, its); diff != "" {
			t.Errorf("warnings of v1 (-) and v1beta3 (+) differ:\n%s", diff)
		}
	})
}

func TestAConvertedProfileScoresAsItsVersionDid(t *testing.T) {
	for _, version := range []string{"v1", "v1beta3", "v1beta2", "v1beta1", "v1alpha2"} {
		t.Run(version, func(t *testing.T) {
			seeded.Check(t, func(t *rapid.T) {
				defaults := defaultScores(version)
				names := slices.Sorted(maps.Keys(defaults))
				enabled := drawPlugins(t, "enabled", names, true)
				disabled := drawPlugins(t, "disabled", append(names, "*"), false)
				plugins := object{"score": object{"enabled": enabled, "disabled": disabled}}
				want := mergeScores(defaults, enabled, disabled)
				if version == "v1" || version == "v1beta3" {
					all := drawPlugins(t, "enabled at all points", names, true)
					none := drawPlugins(t, "disabled at all points", append(names, "*"), false)
					plugins["multiPoint"] = object{"enabled": all, "disabled": none}
					want = expandScores(mergeScores(defaults, all, none), enabled, disabled)
				}
				document, _, err := Convert(document(t, version, []any{object{"plugins": plugins}}))
				if err != nil {
					t.Fatal(err)
				}
				cfg, err := v1alpha2.Decode(document)
				if err != nil {
					t.Fatal(err)
				}
				profile := &cfg.Profiles[0]
				profile.NodeSelection = config.NodeSelectionMuster // so that it gives all scores
				got := map[string]int64{}
				for _, score := range profile.ScorePlugins() {
					got[score.Name] = score.Weight
				}
				if diff := cmp.Diff(today(want), got); diff != "" {
					t.Errorf("scores (-want +got):\n%s\nconverted to %s", diff, document)
				}
			})
		})
	}
}

// defaultScores are the weights of kube-scheduler's default score plugins that muster has as well.
func defaultScores(version string) map[string]int64 {
	weights := map[string]int64{
		"TaintToleration": 1, "NodeAffinity": 1, "InterPodAffinity": 1, "PodTopologySpread": 2, "NodeResourcesBalancedAllocation": 1,
		"ImageLocality": 1, "NodeResourcesLeastAllocated": 1,
	}
	switch version {
	case "v1alpha2":
		weights["PodTopologySpread"] = 1
	case "v1beta1":
	default:
		delete(weights, "NodeResourcesLeastAllocated")
		weights["NodeResourcesFit"] = 1
	}
	if version == "v1" || version == "v1beta3" {
		weights["TaintToleration"], weights["NodeAffinity"], weights["InterPodAffinity"] = 3, 2, 2
	}
	return weights
}

// mergeScores are the weights of the plugins that run, by mergePluginSet of kube-scheduler. One without a weight has 1.
func mergeScores(defaults map[string]int64, enabled, disabled []plugin) map[string]int64 {
	runs := map[string]int64{}
	if !has(disabled, "*") {
		for name, weight := range defaults {
			if !has(disabled, name) {
				runs[name] = weight
			}
		}
	}
	for _, p := range enabled {
		runs[p["name"].(string)] = weightOf(p)
	}
	return runs
}

// expandScores are the weights of the plugins that run, by expandMultiPointPlugins of kube-scheduler, where some run at
// all points.
func expandScores(everywhere map[string]int64, enabled, disabled []plugin) map[string]int64 {
	runs := map[string]int64{}
	for name, weight := range everywhere {
		if !has(disabled, "*") && !has(disabled, name) {
			runs[name] = weight
		}
	}
	for _, p := range enabled {
		runs[p["name"].(string)] = weightOf(p)
	}
	return runs
}

// today has the weights by the names that the plugins have today.
func today(weights map[string]int64) map[string]int64 {
	renamed := maps.Clone(weights)
	if weight, is := renamed["NodeResourcesLeastAllocated"]; is {
		delete(renamed, "NodeResourcesLeastAllocated")
		renamed["NodeResourcesFit"] = weight
	}
	return renamed
}

func has(plugins []plugin, name string) bool {
	return slices.ContainsFunc(plugins, func(p plugin) bool { return p["name"] == name })
}

func weightOf(p plugin) int64 {
	if weight, given := p["weight"].(int); given && weight != 0 {
		return int64(weight)
	}
	return 1
}

// drawPlugins draws some of the names, with weights or not.
func drawPlugins(t *rapid.T, label string, names []string, weighted bool) []plugin {
	plugins := []plugin{}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 3, rapid.ID).Draw(t, label) {
		p := plugin{"name": name}
		if weight := rapid.IntRange(-1, 9).Draw(t, "weight of "+name); weighted && weight >= 0 {
			p["weight"] = weight
		}
		plugins = append(plugins, p)
	}
	return plugins
}

// document is one of a version.
func document(t *rapid.T, version string, profiles []any) []byte {
	data, err := json.Marshal(object{"apiVersion": Group + "/" + version, "kind": Kind, "profiles": profiles})
	if err != nil {
		t.Fatal(err)
	}
	return data
}
