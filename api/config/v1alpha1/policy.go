package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config/v1alpha2"
)

// mostRequested is the priority that is an argument of NodeResourcesFit today.
const mostRequested = "MostRequestedPriority"

// mandatory are the predicates that ran whatever a policy listed.
func mandatory() []string { return []string{v1alpha2.NodeUnschedulable, v1alpha2.TaintToleration} }

// leftOut are the predicates and priorities that muster has nothing to do for, and why.
func leftOut() map[string]string {
	return map[string]string{
		"CheckVolumeBinding":          "kube-scheduler's own VolumeBinding decides this",
		"EqualPriority":               "it gave every node the same score",
		"NodePreferAvoidPodsPriority": "nothing reads the annotation any more that it read",
	}
}

// predicates has the profile run the filter plugins that do what predicates did. Nil stands
// for the default ones.
func (c *conversion) predicates(path *field.Path, predicates []PredicatePolicy) {
	if predicates == nil {
		return
	}
	seen := map[string]bool{}
	var filters, labels []string
	for i, predicate := range predicates {
		at := path.Index(i)
		if c.isOutOfPlace(at.Child("name"), predicate.Name, seen) {
			continue
		}
		plugins := v1alpha2.PluginsOfPredicate(predicate.Name)
		if argument := predicate.Argument; argument != nil && argument.ServiceAffinity != nil {
			plugins, labels = []string{v1alpha2.ServiceAffinity}, append(labels, argument.ServiceAffinity.Labels...)
		} else if slices.Contains(plugins, v1alpha2.ServiceAffinity) {
			c.errs = append(c.errs, field.Required(at.Child("argument", "serviceAffinity"), "name the labels of nodes that have to agree"))
			continue
		}
		if unknown := slices.IndexFunc(plugins, func(name string) bool { return !exists(name, filterOf) }); unknown >= 0 {
			c.errs = append(c.errs, field.Invalid(at.Child("name"), predicate.Name, "unknown predicate"))
			continue
		}
		filters = append(filters, plugins...)
	}
	filter := v1alpha2.PluginSet{Disabled: []v1alpha2.Plugin{{Name: v1alpha2.AllPlugins}}}
	for _, name := range append(filters, mandatory()...) {
		if plugin := (v1alpha2.Plugin{Name: name}); !slices.Contains(filter.Enabled, plugin) {
			filter.Enabled = append(filter.Enabled, plugin)
		}
	}
	c.profile.Plugins.Filter = filter
	if len(labels) > 0 {
		args := map[string]any{"affinityLabels": labels}
		c.profile.PluginConfig = append(c.profile.PluginConfig, v1alpha2.PluginConfig{Name: v1alpha2.ServiceAffinity, Args: args})
	}
}

// priorities has the profile run the score plugins that do what priorities did. Nil stands
// for the default ones.
func (c *conversion) priorities(path *field.Path, priorities []PriorityPolicy) {
	if priorities == nil {
		return
	}
	c.profile.Plugins.Score.Disabled = []v1alpha2.Plugin{{Name: v1alpha2.AllPlugins}}
	seen, by := map[string]bool{}, map[string]PriorityPolicy{}
	for i, priority := range priorities {
		if at := path.Index(i); !c.isOutOfPlace(at.Child("name"), priority.Name, seen) {
			c.priority(at, priority, by)
		}
	}
}

// priority has the profile run the score plugin that does what a priority did, besides those
// that it has by the priorities before.
func (c *conversion) priority(path *field.Path, priority PriorityPolicy, by map[string]PriorityPolicy) {
	name, weight := path.Child("name"), path.Child("weight")
	plugin := v1alpha2.PluginsOfPriority(priority.Name)[0]
	if priority.Name == mostRequested {
		plugin = v1alpha2.NodeResourcesFit
	}
	if !exists(plugin, scoreOf) {
		c.errs = append(c.errs, field.Invalid(name, priority.Name, "unknown priority"))
		return
	}
	switch other, twice := by[plugin]; {
	case priority.Weight < 1 || priority.Weight > 100:
		c.errs = append(c.errs, field.Invalid(weight, priority.Weight, "must be between 1 and 100"))
	case twice && (other.Name == mostRequested || priority.Name == mostRequested):
		c.errs = append(c.errs, field.Invalid(name, priority.Name, "the opposite of "+other.Name))
	case twice && other.Weight != priority.Weight:
		c.errs = append(c.errs, field.Invalid(weight, priority.Weight, fmt.Sprintf("%s is the same plugin, %s, and has weight %d", other.Name, plugin, other.Weight)))
	case twice:
	default:
		by[plugin] = priority
		score := &c.profile.Plugins.Score
		score.Enabled = append(score.Enabled, v1alpha2.Plugin{Name: plugin, Weight: &priority.Weight})
		if priority.Name == mostRequested {
			c.pack(name, priority.Name)
		}
	}
}

// isOutOfPlace says that a name is missing, comes twice or stands for nothing.
func (c *conversion) isOutOfPlace(path *field.Path, name string, seen map[string]bool) bool {
	why, left := leftOut()[name]
	switch {
	case name == "":
		c.errs = append(c.errs, field.Required(path, ""))
	case seen[name]:
		c.errs = append(c.errs, field.Duplicate(path, name))
	case left:
		c.warnings = append(c.warnings, fmt.Sprintf("%s: %q is left out: %s", path, name, why))
	default:
		seen[name] = true
		return false
	}
	seen[name] = true
	return true
}

// exists says that there is a plugin of the name at an extension point.
func exists(name string, point func(v1alpha2.KnownPlugin) v1alpha2.Use) bool {
	return slices.ContainsFunc(v1alpha2.KnownPlugins(), func(plugin v1alpha2.KnownPlugin) bool {
		return plugin.Name == name && point(plugin) != v1alpha2.Never
	})
}

func filterOf(plugin v1alpha2.KnownPlugin) v1alpha2.Use { return plugin.Filter }

func scoreOf(plugin v1alpha2.KnownPlugin) v1alpha2.Use { return plugin.Score }
