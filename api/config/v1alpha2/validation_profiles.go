package v1alpha2

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxPluginWeight is the largest weight of a score plugin.
const maxPluginWeight = 100

func validateProfiles(path *field.Path, profiles []Profile) field.ErrorList {
	if len(profiles) == 0 {
		return field.ErrorList{field.Required(path, "at least one profile")}
	}
	var errs field.ErrorList
	seen := map[string]bool{}
	for i := range profiles {
		profile, at := &profiles[i], path.Index(i)
		errs = append(errs, profile.validate(at)...)
		if profile.SchedulerName != "" && seen[profile.SchedulerName] {
			errs = append(errs, field.Duplicate(at.Child("schedulerName"), profile.SchedulerName))
		}
		seen[profile.SchedulerName] = true
	}
	return errs
}

func (p *Profile) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.SchedulerName == "" {
		errs = append(errs, field.Required(path.Child("schedulerName"), "must be set when there are several profiles"))
	} else {
		for _, message := range validation.IsDNS1123Subdomain(p.SchedulerName) {
			errs = append(errs, field.Invalid(path.Child("schedulerName"), p.SchedulerName, message))
		}
	}
	errs = append(errs, validateOneOf(path.Child("nodeSelection"), p.NodeSelection, NodeSelectionScheduler, NodeSelectionExtender)...)
	errs = append(errs, validateOneOf(path.Child("equivalence"), p.Equivalence, EquivalenceControllerRef, EquivalenceTemplate)...)
	plugins := path.Child("plugins")
	errs = append(errs, p.Plugins.Filter.validate(plugins.Child("filter"), pluginsAt(atFilter, OnRequest), false)...)
	errs = append(errs, p.Plugins.Score.validate(plugins.Child("score"), pluginsAt(atScore, OnRequest), true)...)
	return append(errs, validatePluginConfig(path.Child("pluginConfig"), p.PluginConfig)...)
}

// validate checks the plugin set of an extension point at which the supported plugins
// exist, and have weights or not.
func (s PluginSet) validate(path *field.Path, supported []KnownPlugin, weighted bool) field.ErrorList {
	var errs field.ErrorList
	names := pluginNames(supported)
	enabled := map[string]bool{}
	for i, plugin := range s.Enabled {
		at := path.Child("enabled").Index(i)
		errs = append(errs, validatePluginName(at.Child("name"), plugin.Name, names, enabled)...)
		if plugin.Weight == nil {
			continue
		}
		if !weighted {
			errs = append(errs, field.Forbidden(at.Child("weight"), "only score plugins have a weight"))
		} else if *plugin.Weight < 1 || *plugin.Weight > maxPluginWeight {
			errs = append(errs, field.Invalid(at.Child("weight"), *plugin.Weight, weightRange(maxPluginWeight)))
		}
	}
	names = append(names, AllPlugins)
	disabled := map[string]bool{}
	for i, plugin := range s.Disabled {
		at := path.Child("disabled").Index(i)
		errs = append(errs, validatePluginName(at.Child("name"), plugin.Name, names, disabled)...)
		if plugin.Weight != nil {
			errs = append(errs, field.Forbidden(at.Child("weight"), "a disabled plugin has no weight"))
		}
	}
	return errs
}

func validatePluginConfig(path *field.Path, configs []PluginConfig) field.ErrorList {
	var errs field.ErrorList
	names := pluginNames(KnownPlugins())
	seen := map[string]bool{}
	for i, config := range configs {
		at := path.Index(i)
		errs = append(errs, validatePluginName(at.Child("name"), config.Name, names, seen)...)
		if args, ok := config.Args.(PluginArgs); ok {
			errs = append(errs, args.validate(at.Child("args"))...)
		}
	}
	return errs
}

// validatePluginName checks one name of a list and adds it to those seen.
func validatePluginName(path *field.Path, name string, supported []string, seen map[string]bool) field.ErrorList {
	repeated := seen[name]
	seen[name] = true
	_, known := findPlugin(name)
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, "supported values: "+quoteAll(supported))}
	case !slices.Contains(supported, name) && known:
		return field.ErrorList{field.Invalid(path, name, "does not exist at this extension point, supported values: "+quoteAll(supported))}
	case !slices.Contains(supported, name):
		return field.ErrorList{field.Invalid(path, name, "unknown plugin, supported values: "+quoteAll(supported))}
	case repeated:
		return field.ErrorList{field.Duplicate(path, name)}
	default:
		return nil
	}
}

func validateOneOf[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, supported)}
}

func quoteAll(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	return strings.Join(quoted, ", ")
}
