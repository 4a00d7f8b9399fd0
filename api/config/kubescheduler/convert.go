package kubescheduler

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/strict"
	"muster.dev/muster/api/config/v1alpha2"
)

// What a document must say that it is.
const (
	APIVersion = "kubescheduler.config.k8s.io/v1"
	Kind       = "KubeSchedulerConfiguration"
)

// Convert returns what a YAML or JSON document means for muster, as a valid document of v1alpha2 in JSON. Warnings
// name what stays with kube-scheduler. The error is an Aggregate; it names fields of the document that was read, and
// after "converted: " those of the document that was made of it.
func Convert(data []byte) (document []byte, warnings []string, err error) {
	written, err := strict.YAML(data, APIVersion, Kind)
	if err != nil {
		return nil, nil, err
	}
	var scheduler schedulerv1.KubeSchedulerConfiguration
	if errs := strict.Decode(nil, written, &scheduler); len(errs) > 0 {
		return nil, nil, errs.ToAggregate()
	}
	c := conversion{}
	c.leaveRest(written)
	var profiles []any
	for i := range scheduler.Profiles {
		profiles = append(profiles, c.profile(field.NewPath("profiles").Index(i), &scheduler.Profiles[i]))
	}
	c.sameQueue(scheduler.Profiles)
	if len(c.errs) > 0 {
		return nil, nil, c.errs.ToAggregate()
	}
	made := map[string]any{"apiVersion": v1alpha2.APIVersion, "kind": v1alpha2.Kind}
	if len(profiles) > 0 {
		made["profiles"] = profiles
	}
	if document, err = json.Marshal(made); err != nil {
		return nil, nil, err
	}
	cfg, err := v1alpha2.Decode(document)
	if err != nil {
		return nil, nil, utilerrors.NewAggregate([]error{fmt.Errorf("converted: %w", err)})
	}
	return document, append(c.warnings, cfg.Warnings()...), nil
}

// conversion gathers what is said about a document while it is converted.
type conversion struct {
	warnings []string
	errs     field.ErrorList
}

// profile is what a profile means for muster.
func (c *conversion) profile(path *field.Path, from *schedulerv1.KubeSchedulerProfile) map[string]any {
	to := map[string]any{}
	if from.SchedulerName != nil {
		to["schedulerName"] = *from.SchedulerName
	}
	if from.Plugins != nil {
		at := path.Child("plugins")
		multi, plugins := at.Child("multiPoint"), config.Plugins{}
		c.leaveUnknown(multi, &from.Plugins.MultiPoint)
		c.leaveUnknown(at.Child("filter"), &from.Plugins.Filter)
		c.leaveUnknown(at.Child("score"), &from.Plugins.Score)
		plugins.Filter = merged(&from.Plugins.MultiPoint, &from.Plugins.Filter, func(p config.KnownPlugin) config.Use { return p.Filter })
		plugins.Score = merged(&from.Plugins.MultiPoint, &from.Plugins.Score, func(p config.KnownPlugin) config.Use { return p.Score })
		for i := range plugins.Filter.Enabled {
			plugins.Filter.Enabled[i].Weight = nil // of its score
		}
		to["plugins"] = plugins
	}
	if args := c.args(path.Child("pluginConfig"), from.PluginConfig); len(args) > 0 {
		to["pluginConfig"] = args
	}
	return to
}

// find returns muster's plugin of a name that kube-scheduler, or Koordinator's scheduler, has.
func find(name string) (config.KnownPlugin, bool) {
	if name == config.LoadAwareScheduling {
		name = config.LoadAware
	}
	return config.FindPlugin(name)
}

// leaveUnknown warns of plugins that muster has not.
func (c *conversion) leaveUnknown(path *field.Path, set *schedulerv1.PluginSet) {
	for i, plugin := range set.Enabled {
		if _, known := find(plugin.Name); !known {
			c.warn(path.Child("enabled").Index(i).Child("name"), plugin.Name)
		}
	}
}

func (c *conversion) warn(path *field.Path, name string) {
	c.warnings = append(c.warnings, fmt.Sprintf("%s: %s stays with kube-scheduler: muster has no such plugin", path, name))
}

// merged is what a profile says of an extension point: at all points at once, and at this one, which comes first
// (mergePluginSet and expandMultiPointPlugins of kube-scheduler).
func merged(all, here *schedulerv1.PluginSet, use func(config.KnownPlugin) config.Use) config.PluginSet {
	var set config.PluginSet
	add := func(to *[]config.Plugin, plugin schedulerv1.Plugin, weighted bool) {
		known, is := find(plugin.Name)
		everything := plugin.Name == config.AllPlugins && !weighted
		if !everything && (!is || use(known) == config.Never) ||
			slices.ContainsFunc(*to, func(p config.Plugin) bool { return p.Name == plugin.Name }) {
			return
		}
		made := config.Plugin{Name: plugin.Name}
		if weighted && plugin.Weight != nil && *plugin.Weight != 0 {
			made.Weight = plugin.Weight
		}
		*to = append(*to, made)
	}
	for _, from := range []*schedulerv1.PluginSet{here, all} {
		for _, plugin := range from.Disabled {
			add(&set.Disabled, plugin, false)
		}
	}
	for _, plugin := range here.Enabled {
		add(&set.Enabled, plugin, true)
	}
	off := func(name string) bool {
		return slices.ContainsFunc(here.Disabled, func(p schedulerv1.Plugin) bool { return p.Name == name || p.Name == config.AllPlugins })
	}
	for _, plugin := range all.Enabled {
		if !off(plugin.Name) {
			add(&set.Enabled, plugin, true)
		}
	}
	return set
}

// args are the arguments of the plugins that muster has. They are written as kube-scheduler's are.
func (c *conversion) args(path *field.Path, from []schedulerv1.PluginConfig) []any {
	var to []any
	for i, plugin := range from {
		known, is := find(plugin.Name)
		if !is || known.NewArgs == nil {
			c.warn(path.Index(i).Child("name"), plugin.Name)
			continue
		}
		args := map[string]json.RawMessage{}
		if len(plugin.Args.Raw) > 0 {
			if err := json.Unmarshal(plugin.Args.Raw, &args); err != nil {
				c.errs = append(c.errs, field.Invalid(path.Index(i).Child("args"), string(plugin.Args.Raw), "must be an object"))
				continue
			}
		}
		delete(args, "apiVersion")
		delete(args, "kind")
		to = append(to, map[string]any{"name": plugin.Name, "args": args})
	}
	return to
}

// sameQueue refuses profiles that sort the one queue of kube-scheduler in several ways, as kube-scheduler does.
func (c *conversion) sameQueue(profiles []schedulerv1.KubeSchedulerProfile) {
	sorts := func(p *schedulerv1.KubeSchedulerProfile) string {
		if p.Plugins == nil || len(p.Plugins.QueueSort.Enabled) == 0 {
			return "PrioritySort"
		}
		return p.Plugins.QueueSort.Enabled[0].Name
	}
	for i := range profiles {
		if name := sorts(&profiles[i]); name != sorts(&profiles[0]) {
			c.errs = append(c.errs, field.Invalid(field.NewPath("profiles").Index(i).Child("plugins", "queueSort"), name,
				"must be the same in all profiles, as there is one queue: the first has "+sorts(&profiles[0])))
		}
	}
}

// leaveRest warns of the fields beside the profiles.
func (c *conversion) leaveRest(written []byte) {
	var rest map[string]json.RawMessage
	if json.Unmarshal(written, &rest) != nil {
		return // it was read already
	}
	for _, name := range []string{"apiVersion", "kind", "profiles"} {
		delete(rest, name)
	}
	if len(rest) > 0 {
		c.warnings = append(c.warnings, strings.Join(slices.Sorted(maps.Keys(rest)), ", ")+": these stay with kube-scheduler")
	}
}
