package kubescheduler

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"muster.dev/muster/api/config"
)

// The extension points that are looked at, as they are written.
const (
	queueSort  = "queueSort"
	preFilter  = "preFilter"
	filter     = "filter"
	postFilter = "postFilter"
	preScore   = "preScore"
	score      = "score"
	multiPoint = "multiPoint"
)

// profile is one of a document, in the words of any version.
type profile struct {
	path *field.Path // nil stands for the top

	SchedulerName            *string                          `json:"schedulerName"`
	PercentageOfNodesToScore *int32                           `json:"percentageOfNodesToScore"`
	Plugins                  map[string]schedulerv1.PluginSet `json:"plugins"`
	PluginConfig             []schedulerv1.PluginConfig       `json:"pluginConfig"`
}

// profilesOf returns the profiles of a document whose shape is right. One that leaves them out has the default one, which
// is told only where it is another one today.
func (v *version) profilesOf(written []byte) ([]profile, error) {
	var document struct {
		Profiles []profile `json:"profiles"`
	}
	if v.single {
		document.Profiles = make([]profile, 1)
		err := json.Unmarshal(written, &document.Profiles[0])
		document.Profiles[0].PercentageOfNodesToScore = nil // of the process
		return document.Profiles, err
	}
	if err := json.Unmarshal(written, &document); err != nil {
		return nil, err
	}
	if len(document.Profiles) == 0 && len(v.weights) > 0 {
		document.Profiles = make([]profile, 1)
	}
	for i := range document.Profiles {
		document.Profiles[i].path = field.NewPath("profiles").Index(i)
	}
	return document.Profiles, nil
}

// entry is a plugin that a set names.
type entry struct {
	path   *field.Path
	name   string
	weight *int32
}

func (e *entry) at() *field.Path { return e.path.Child("name") }

// said lists the plugins that a profile names at an extension point.
type said struct{ enabled, disabled []entry }

// of lists the plugins that the set of an extension point names.
func (p *profile) of(point string) said {
	set, path := p.Plugins[point], p.path.Child("plugins", point)
	return said{enabled: entries(path.Child("enabled"), set.Enabled), disabled: entries(path.Child("disabled"), set.Disabled)}
}

func entries(path *field.Path, plugins []schedulerv1.Plugin) []entry {
	all := make([]entry, 0, len(plugins))
	for i, plugin := range plugins {
		e := entry{path: path.Index(i), name: plugin.Name}
		if plugin.Weight != nil && *plugin.Weight != 0 {
			e.weight = plugin.Weight
		}
		all = append(all, e)
	}
	return all
}

// at merges what is said of an extension point alone, which comes first, and of all points at once (mergePluginSet and
// expandMultiPointPlugins of kube-scheduler). Each name is in it once.
func (p *profile) at(point string, v *version) said {
	here := p.of(point)
	if v.multiPoint {
		off, all := names(here.disabled), p.of(multiPoint)
		here.disabled = append(here.disabled, all.disabled...)
		for _, e := range all.enabled {
			if !off[e.name] && !off[config.AllPlugins] {
				here.enabled = append(here.enabled, e)
			}
		}
	}
	return said{enabled: once(here.enabled), disabled: once(here.disabled)}
}

// names collects the names of entries.
func names(entries []entry) map[string]bool {
	all := make(map[string]bool, len(entries))
	for _, e := range entries {
		all[e.name] = true
	}
	return all
}

// once leaves the first entry of each name.
func once(entries []entry) []entry {
	seen := map[string]bool{}
	return slices.DeleteFunc(entries, func(e entry) bool {
		again := seen[e.name]
		seen[e.name] = true
		return again
	})
}

// enables reports whether a plugin is enabled at some extension point that kube-scheduler goes by.
func (p *profile) enables(name string, v *version) bool {
	for point, set := range p.Plugins {
		if (point != multiPoint || v.multiPoint) &&
			slices.ContainsFunc(set.Enabled, func(plugin schedulerv1.Plugin) bool { return plugin.Name == name }) {
			return true
		}
	}
	return false
}
