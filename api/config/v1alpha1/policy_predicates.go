package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
)

// checkNodeLabelPresence is the predicate that is an argument of NodeAffinity today.
const checkNodeLabelPresence = "CheckNodeLabelPresence"

// mandatory are the predicates that ran whatever a policy listed.
func mandatory() []string { return []string{config.NodeUnschedulable, config.TaintToleration} }

// filters are what the predicates of a policy become.
type filters struct {
	plugins []string
	shared  []label // of ServiceAffinity
	asked   []label // of NodeAffinity
}

// label is a key of node labels that an argument names.
type label struct {
	key     string
	present bool
	path    *field.Path
}

// predicates has the profile run the filter plugins that do what predicates did. Nil stands
// for the default ones.
func (c *conversion) predicates(path *field.Path, predicates []PredicatePolicy) {
	if predicates == nil {
		return
	}
	seen, become := map[string]bool{}, filters{}
	for i, predicate := range predicates {
		if at := path.Index(i); !c.isOutOfPlace(at.Child("name"), predicate.Name, seen) {
			c.predicate(at, predicate, &become)
		}
	}
	filter := config.PluginSet{Disabled: []config.Plugin{{Name: config.AllPlugins}}}
	for _, name := range append(become.plugins, mandatory()...) {
		if plugin := (config.Plugin{Name: name}); !slices.Contains(filter.Enabled, plugin) {
			filter.Enabled = append(filter.Enabled, plugin)
		}
	}
	c.profile.Plugins.Filter = filter
	c.shareLabels(become.shared)
	c.askForLabels(become.asked)
}

// predicate adds what a predicate becomes.
func (c *conversion) predicate(path *field.Path, predicate PredicatePolicy, become *filters) {
	var argument PredicateArgument
	if predicate.Argument != nil {
		argument = *predicate.Argument
	}
	at := path.Child("argument")
	plugins := config.PluginsOfPredicate(predicate.Name)
	switch serviceAffinity, presence := argument.ServiceAffinity, argument.LabelsPresence; {
	case serviceAffinity != nil && presence != nil:
		c.errs = append(c.errs, field.Forbidden(at, "a predicate is made of serviceAffinity or labelsPresence, not of both"))
	case serviceAffinity != nil:
		become.plugins = append(become.plugins, config.ServiceAffinity)
		become.shared = append(become.shared, c.labels(at.Child("serviceAffinity", "labels"), serviceAffinity.Labels, true)...)
	case presence != nil:
		become.plugins = append(become.plugins, config.NodeAffinity)
		become.asked = append(become.asked, c.labels(at.Child("labelsPresence", "labels"), presence.Labels, presence.Presence)...)
	case slices.Contains(plugins, config.ServiceAffinity):
		c.errs = append(c.errs, field.Required(at.Child("serviceAffinity"), "name the labels of nodes that have to agree"))
	case predicate.Name == checkNodeLabelPresence:
		c.errs = append(c.errs, field.Required(at.Child("labelsPresence"), "name the labels that nodes must have, or must not have"))
	case slices.ContainsFunc(plugins, func(name string) bool { return !exists(name, filterOf) }):
		c.errs = append(c.errs, field.Invalid(path.Child("name"), predicate.Name, "unknown predicate"))
	default:
		become.plugins = append(become.plugins, plugins...)
	}
}

// labels are the keys of an argument, which must name some.
func (c *conversion) labels(path *field.Path, keys []string, present bool) []label {
	if len(keys) == 0 {
		c.errs = append(c.errs, field.Required(path, "name a label of nodes"))
	}
	var labels []label
	for i, key := range keys {
		labels = append(labels, label{key, present, path.Index(i)})
	}
	return labels
}

// shareLabels has the pods of a service be on nodes on which the labels are alike.
func (c *conversion) shareLabels(labels []label) {
	if len(labels) == 0 {
		return
	}
	var keys []string
	for _, label := range labels {
		keys = append(keys, label.key)
	}
	at := c.addArg(config.ServiceAffinity, "affinityLabels", keys)
	for i, label := range labels {
		c.move(at.Index(i), label.path)
	}
}

// askForLabels has all pods be on nodes that have labels, or have not.
func (c *conversion) askForLabels(labels []label) {
	if len(labels) == 0 {
		return
	}
	var expressions []any
	for _, label := range labels {
		operator := corev1.NodeSelectorOpDoesNotExist
		if label.present {
			operator = corev1.NodeSelectorOpExists
		}
		expressions = append(expressions, map[string]any{"key": label.key, "operator": operator})
	}
	const required, terms, match = "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms", "matchExpressions"
	at := c.addArg(config.NodeAffinity, "addedAffinity", map[string]any{
		required: map[string]any{terms: []any{map[string]any{match: expressions}}},
	})
	for i, label := range labels {
		c.move(at.Child(required, terms).Index(0).Child(match).Index(i).Child("key"), label.path)
	}
}
