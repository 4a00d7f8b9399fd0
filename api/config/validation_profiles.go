package config

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/spelling"
)

// maxPluginWeight is the largest weight of a score plugin.
const maxPluginWeight = 100

func validateProfiles(path *field.Path, profiles []Profile) field.ErrorList {
	if len(profiles) == 0 {
		return field.ErrorList{field.Required(path, "at least one profile; left out, it is one of default-scheduler")}
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
	errs = append(errs, p.validateSelection(path)...)
	errs = append(errs, validateListed(path.Child("equivalence"), p.Equivalence)...)
	errs = append(errs, p.validateShortlist(path.Child("shortlist"))...)
	if p.ReserveAfter != nil {
		errs = append(errs, validateReserveAfter(path.Child("reserveAfter"), *p.ReserveAfter)...)
	}
	plugins := path.Child("plugins")
	errs = append(errs, p.Plugins.Filter.weighted().validate(plugins.Child("filter"), pluginsAt(atFilter, OnRequest), oldPredicates())...)
	errs = append(errs, p.Plugins.Score.validate(plugins.Child("score"), pluginsAt(atScore, OnRequest), oldPriorities())...)
	if p.Offload {
		errs = append(errs, p.validateOffload(path.Child("offload"), plugins.Child("filter", "disabled"))...)
	}
	return append(errs, validatePluginConfig(path.Child("pluginConfig"), p.PluginConfig)...)
}

// formerSelections returns the values of nodeSelection that there were, each with what to write in its place.
func formerSelections() map[NodeSelection]string {
	return map[NodeSelection]string{
		"Extender": "write nodeSelection: Muster, which nominates pods as well while that saves kube-scheduler time",
		"Nominate": "write nodeSelection: Muster, and nomination.minSaving: 0s to nominate every pod",
		"Ahead":    "write nodeSelection: Muster and gates: UntilPlace",
	}
}

// validateSelection checks who picks the node, and how long pods are gated.
func (p *Profile) validateSelection(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if line, former := formerSelections()[p.NodeSelection]; former {
		errs = append(errs, field.Invalid(path.Child("nodeSelection"), p.NodeSelection, line))
	} else {
		errs = append(errs, validateListed(path.Child("nodeSelection"), p.NodeSelection)...)
	}
	errs = append(errs, validateListed(path.Child("gates"), p.Gates)...)
	if p.Gates == GatesUntilPlace && p.NodeSelection == NodeSelectionScheduler {
		errs = append(errs, field.Invalid(path.Child("gates"), p.Gates, "needs nodeSelection: Muster, which picks the place"))
	}
	return errs
}

func (p *Profile) validateShortlist(path *field.Path) field.ErrorList {
	switch {
	case p.Shortlist == nil || *p.Shortlist == 0:
		return nil
	case *p.Shortlist < 0:
		return field.ErrorList{field.Invalid(path, *p.Shortlist, "must be 0, which is all nodes that fit, or more")}
	case p.NodeSelection == NodeSelectionMuster:
		return field.ErrorList{field.Invalid(path, *p.Shortlist, "with nodeSelection: Muster filter answers with one node")}
	}
	return nil
}

// validateOffload refuses to drop a predicate on both sides: kube-scheduler may have
// been told to leave it to muster.
func (p *Profile) validateOffload(offload, disabled *field.Path) field.ErrorList {
	if p.NodeSelection == NodeSelectionScheduler {
		return field.ErrorList{field.Invalid(offload, true, "needs nodeSelection: Muster: kube-scheduler is left no scores to pick by")}
	}
	runs := p.FilterPlugins()
	missing := slices.DeleteFunc(pluginNames(pluginsAt(atFilter, ByDefault)), func(name string) bool {
		return slices.Contains(runs, name)
	})
	if len(missing) == 0 {
		return nil
	}
	return field.ErrorList{
		field.Forbidden(
			disabled,
			"with offload, kube-scheduler leaves every default filter plugin to muster, so all must run; missing: "+strings.Join(missing, ", "),
		),
	}
}

// validate checks the plugin set of an extension point at which the supported plugins
// exist, and the old names stand for them.
func (s ScoreSet) validate(path *field.Path, supported []KnownPlugin, old oldNames) field.ErrorList {
	names, enabled, disabled := pluginNames(supported), path.Child("enabled"), path.Child("disabled")
	errs := validateNames(enabled, s.Enabled, names, old)
	errs = append(errs, validateWeights(enabled, s.Enabled, old)...)
	return append(errs, validateNames(disabled, s.Disabled, append(names, AllPlugins), old)...)
}

// validateNames checks the names of a list, old and of today. Each may stand in it once.
func validateNames[P named](path *field.Path, plugins []P, supported []string, old oldNames) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, plugin := range plugins {
		at := path.Index(i).Child("name")
		if wrong := validatePluginName(at, plugin.name(), supported, old); len(wrong) > 0 {
			errs = append(errs, wrong...)
		} else if seen[plugin.name()] {
			errs = append(errs, field.Duplicate(at, plugin.name()))
		}
		seen[plugin.name()] = true
	}
	return errs
}

// validateWeights checks the weights of score plugins. Two names of the same plugin may
// not give it different ones.
func validateWeights(path *field.Path, plugins []WeightedPlugin, old oldNames) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]int32{}
	for i, plugin := range plugins {
		at, weight := path.Index(i).Child("weight"), plugin.weight()
		if weight < 1 || weight > maxPluginWeight {
			errs = append(errs, field.Invalid(at, weight, weightRange(maxPluginWeight)))
			continue
		}
		for _, name := range old.today(plugin.Name) {
			if other, given := seen[name]; given && other != weight {
				errs = append(errs, field.Invalid(at, weight, fmt.Sprintf("%s has weight %d above", name, other)))
			}
			seen[name] = weight
		}
	}
	return errs
}

func validatePluginConfig(path *field.Path, configs []PluginConfig) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, config := range configs {
		at := path.Index(i)
		errs = append(errs, validateConfigName(at.Child("name"), config, seen)...)
		if args, ok := config.Args.(PluginArgs); ok {
			errs = append(errs, args.validate(at.Child("args"))...)
		}
	}
	return errs
}

// validateConfigName says whether a name stands for one plugin, and for one that was not
// seen, to which it adds the plugin.
func validateConfigName(path *field.Path, config PluginConfig, seen map[string]bool) field.ErrorList {
	old := everyOldName()
	if today := old.today(config.Name); len(today) > 1 {
		return field.ErrorList{
			field.Invalid(path, config.Name, "stands for several plugins, name the one whose args these are: "+quoteAll(today)),
		}
	}
	plugin, known := config.plugin()
	if !known {
		return validatePluginName(path, config.Name, pluginNames(KnownPlugins()), old)
	}
	if seen[plugin.Name] {
		return field.ErrorList{field.Duplicate(path, config.Name)}
	}
	seen[plugin.Name] = true
	return nil
}

// validatePluginName says whether the plugins that a name stands for are supported.
func validatePluginName(path *field.Path, name string, supported []string, old oldNames) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "supported values: "+quoteAll(supported))}
	}
	var errs field.ErrorList
	for _, today := range old.today(name) {
		if slices.Contains(supported, today) {
			continue
		}
		problem := "unknown plugin"
		if slices.ContainsFunc(everyOldName().today(today), isKnown) {
			problem = "does not exist at this extension point"
		}
		if today != name {
			problem = "stands for " + today + ": " + problem
		}
		errs = append(errs, field.Invalid(path, name, problem+", "+spelling.DidYouMean(name, supported)+"supported values: "+quoteAll(supported)))
	}
	return errs
}

func quoteAll(names []string) string {
	var quoted []string
	for _, name := range names {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	return strings.Join(quoted, ", ")
}
