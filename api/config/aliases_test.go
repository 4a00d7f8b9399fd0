package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestAnOldNameStandsForItsPluginsAtItsExtensionPoint(t *testing.T) {
	heavy := new(int32(7))
	tests := []struct {
		name    string
		plugins Plugins
		filters []string
		scores  []ScorePlugin
	}{
		{
			name: "one that stands for several enables them in order",
			plugins: Plugins{
				Filter: PluginSet{
					Disabled: []Plugin{{Name: AllPlugins}},
					Enabled:  []Plugin{{Name: "GeneralPredicates"}, {Name: "CheckNodeUnschedulable"}},
				},
				Score: ScoreSet{Disabled: []Plugin{{Name: AllPlugins}}},
			},
			filters: []string{NodeResourcesFit, NodeName, NodePorts, NodeAffinity, NodeUnschedulable},
		},
		{
			name: "a plugin that is named twice runs once, at the first place",
			plugins: Plugins{
				Filter: PluginSet{
					Disabled: []Plugin{{Name: AllPlugins}},
					Enabled:  []Plugin{{Name: "PodFitsHostPorts"}, {Name: "GeneralPredicates"}, {Name: NodeName}},
				},
				Score: ScoreSet{Disabled: []Plugin{{Name: AllPlugins}}},
			},
			filters: []string{NodePorts, NodeResourcesFit, NodeName, NodeAffinity},
		},
		{
			name: "a priority carries its weight over",
			plugins: Plugins{
				Filter: PluginSet{Disabled: []Plugin{{Name: AllPlugins}}},
				Score:  ScoreSet{Enabled: []WeightedPlugin{{Name: "LeastRequestedPriority", Weight: heavy}}, Disabled: []Plugin{{Name: AllPlugins}}},
			},
			scores: []ScorePlugin{{NodeResourcesFit, 7}},
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

func TestEveryOldNameIsAcceptedWhereItsPluginsExistAndElseRefusedByName(t *testing.T) {
	for point, names := range map[string]struct {
		old       oldNames
		supported []string
	}{
		"filter": {oldPredicates(), pluginNames(pluginsAt(atFilter, OnRequest))},
		"score":  {oldPriorities(), pluginNames(pluginsAt(atScore, OnRequest))},
	} {
		for name, today := range names.old {
			missing := slices.DeleteFunc(slices.Clone(today), func(plugin string) bool { return slices.Contains(names.supported, plugin) })
			errs := validatePluginName(field.NewPath(point), name, names.supported, names.old)
			if len(errs) != len(missing) {
				t.Errorf("%s: %d errors, want one for each plugin that does not exist at %s, %v: %v", name, len(errs), point, missing, errs)
				continue
			}
			for i, err := range errs {
				if err.BadValue != name || !strings.HasPrefix(err.Detail, "stands for "+missing[i]+": ") {
					t.Errorf("%s: error %v, want one that names it and %s", name, err, missing[i])
				}
			}
		}
	}
}

func TestNoNameIsBothOldAndOfToday(t *testing.T) {
	predicates, priorities := oldPredicates(), oldPriorities()
	for name := range everyOldName() {
		filters, predicate := predicates[name]
		scores, priority := priorities[name]
		if predicate && priority && !slices.Equal(filters, scores) {
			t.Errorf("%s stands for %v as a filter and %v as a score: what it means as the name of args depends on which", name, filters, scores)
		}
		if isKnown(name) {
			t.Errorf("%s is the name of a plugin and must mean that one", name)
		}
	}
}
