package v1alpha1

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
)

// The priorities that are arguments of NodeResourcesFit today.
const (
	mostRequested            = "MostRequestedPriority"
	requestedToCapacityRatio = "RequestedToCapacityRatioPriority"
)

// absent are the priorities that muster has not, and what comes near.
func absent() map[string]string {
	return map[string]string{
		"NodeLabelPriority":           "NodeAffinity prefers nodes by their labels, with args.addedAffinity",
		"ResourceLimitsPriority":      "NodeResourcesFit scores what pods request",
		"ServiceAntiAffinityPriority": "PodTopologySpread spreads over the values of a label, with args.defaultConstraints",
	}
}

// priorities has the profile run the score plugins that do what priorities did. Nil stands
// for the default ones.
func (c *conversion) priorities(path *field.Path, priorities []PriorityPolicy) {
	if priorities == nil {
		return
	}
	c.profile.Plugins.Score.Disabled = []config.Plugin{{Name: config.AllPlugins}}
	seen, by := map[string]bool{}, map[string]PriorityPolicy{}
	for i, priority := range priorities {
		if at := path.Index(i); !c.isOutOfPlace(at.Child("name"), priority.Name, seen) && !c.isAbsent(at, priority) {
			c.priority(at, priority, by)
		}
	}
}

// isAbsent says that muster has no such priority.
func (c *conversion) isAbsent(path *field.Path, priority PriorityPolicy) bool {
	at, name := path.Child("name"), priority.Name
	if argument := priority.Argument; argument != nil && argument.ServiceAntiAffinity != nil {
		at, name = path.Child("argument", "serviceAntiAffinity"), "ServiceAntiAffinityPriority"
	} else if argument != nil && argument.LabelPreference != nil {
		at, name = path.Child("argument", "labelPreference"), "NodeLabelPriority"
	}
	instead, is := absent()[name]
	if is {
		c.errs = append(c.errs, field.Forbidden(at, fmt.Sprintf("muster has no priority %s; %s", name, instead)))
	}
	return is
}

// priority makes the profile run the score plugin that stands for a priority, besides the plugins
// of earlier priorities.
func (c *conversion) priority(path *field.Path, priority PriorityPolicy, by map[string]PriorityPolicy) {
	name, weight, argument := path.Child("name"), path.Child("weight"), path.Child("argument", "requestedToCapacityRatioArguments")
	plugin := config.PluginsOfPriority(priority.Name)[0]
	if priority.hasStrategy() {
		plugin = config.NodeResourcesFit
	}
	if !exists(plugin, scoreOf) {
		c.errs = append(c.errs, field.Invalid(name, priority.Name, "unknown priority"))
		return
	}
	other, twice := by[plugin]
	switch {
	case priority.Weight < 1 || priority.Weight > 100:
		c.errs = append(c.errs, field.Invalid(weight, priority.Weight, "must be between 1 and 100"))
	case twice && (other.hasStrategy() || priority.hasStrategy()):
		c.errs = append(
			c.errs, field.Invalid(name, priority.Name, "scores by what is requested in another way than "+other.Name+", and there can be one"),
		)
	case twice && other.Weight != priority.Weight:
		c.errs = append(
			c.errs,
			field.Invalid(weight, priority.Weight, fmt.Sprintf("%s is the same plugin, %s, and has weight %d", other.Name, plugin, other.Weight)),
		)
	case twice:
	case priority.Name == requestedToCapacityRatio && priority.shape() == nil:
		c.errs = append(c.errs, field.Required(argument, "give the shape"))
	default:
		by[plugin] = priority
		score := &c.profile.Plugins.Score
		score.Enabled = append(score.Enabled, config.WeightedPlugin{Name: plugin, Weight: &priority.Weight})
		c.strategy(name, argument, priority)
	}
}

// strategy has NodeResourcesFit score in the way that a priority says, if it does.
func (c *conversion) strategy(name, argument *field.Path, priority PriorityPolicy) {
	if shape := priority.shape(); shape != nil {
		c.scoreByShape(argument, shape)
	} else if priority.hasStrategy() {
		c.pack(name, priority.Name)
	}
}

// hasStrategy says that NodeResourcesFit scores in a way that is not its default.
func (p PriorityPolicy) hasStrategy() bool {
	return p.shape() != nil || p.Name == mostRequested || p.Name == requestedToCapacityRatio
}

func (p PriorityPolicy) shape() *RequestedToCapacityRatioArguments {
	if p.Argument == nil {
		return nil
	}
	return p.Argument.RequestedToCapacityRatioArguments
}

// scoreByShape has NodeResourcesFit score by the shape that an argument gives.
func (c *conversion) scoreByShape(path *field.Path, argument *RequestedToCapacityRatioArguments) {
	strategy := map[string]any{
		"type":                     config.RequestedToCapacityRatio,
		"requestedToCapacityRatio": map[string]any{"shape": argument.Shape},
	}
	if len(argument.Resources) > 0 {
		var resources []config.ResourceSpec
		for _, resource := range argument.Resources {
			resources = append(resources, config.ResourceSpec{Name: resource.Name, Weight: cmp.Or(resource.Weight, 1)})
		}
		strategy["resources"] = resources
	}
	at := c.addArg(config.NodeResourcesFit, "scoringStrategy", strategy)
	c.move(at.Child("requestedToCapacityRatio"), path)
	c.move(at.Child("resources"), path.Child("resources"))
}
