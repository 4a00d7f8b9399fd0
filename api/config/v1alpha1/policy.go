package v1alpha1

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
)

// leftOut are the predicates and priorities that muster has nothing to do for, and why.
func leftOut() map[string]string {
	return map[string]string{
		"CheckVolumeBinding":          "kube-scheduler's own VolumeBinding decides this",
		"EqualPriority":               "it gave every node the same score",
		"NodePreferAvoidPodsPriority": "nothing reads the annotation any more that it read",
	}
}

// policy has the profile run the plugins that do what a policy did.
func (c *conversion) policy(path *field.Path, policy *Policy) {
	c.predicates(path.Child("predicates"), policy.Predicates)
	c.priorities(path.Child("priorities"), policy.Priorities)
	if len(policy.Extenders) > 0 {
		c.errs = append(
			c.errs,
			field.Forbidden(
				path.Child("extenders"), "muster is an extender itself and calls none; kube-scheduler lists its own in its configuration",
			),
		)
	}
	if policy.AlwaysCheckAllPredicates {
		c.warnings = append(
			c.warnings, fmt.Sprintf("%s is left out: of a node muster tells the first reason", path.Child("alwaysCheckAllPredicates")),
		)
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
func exists(name string, point func(config.KnownPlugin) config.Use) bool {
	return slices.ContainsFunc(config.KnownPlugins(), func(plugin config.KnownPlugin) bool {
		return plugin.Name == name && point(plugin) != config.Never
	})
}

func filterOf(plugin config.KnownPlugin) config.Use { return plugin.Filter }

func scoreOf(plugin config.KnownPlugin) config.Use { return plugin.Score }
