package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The names of the plugins that kube-scheduler has under the same name.
const (
	NodeUnschedulable               = "NodeUnschedulable"
	NodeName                        = "NodeName"
	TaintToleration                 = "TaintToleration"
	NodeAffinity                    = "NodeAffinity"
	NodePorts                       = "NodePorts"
	NodeResourcesFit                = "NodeResourcesFit"
	VolumeRestrictions              = "VolumeRestrictions"
	NodeVolumeLimits                = "NodeVolumeLimits"
	VolumeBinding                   = "VolumeBinding"
	VolumeZone                      = "VolumeZone"
	PodTopologySpread               = "PodTopologySpread"
	InterPodAffinity                = "InterPodAffinity"
	NodeResourcesBalancedAllocation = "NodeResourcesBalancedAllocation"
	ImageLocality                   = "ImageLocality"
	NodeDeclaredFeatures            = "NodeDeclaredFeatures"
	DynamicResources                = "DynamicResources"
)

// The names of the plugins that kube-scheduler does not have, or not any more.
const (
	// NodeConditions keeps pods off nodes that are not ready, have no network or are
	// short of memory, disk or process ids. In a cluster the node lifecycle controller
	// turns these conditions into taints, which TaintToleration reads; the plugin is for
	// where nothing does.
	NodeConditions = "NodeConditions"
	// ServiceAffinity keeps the pods of a service on nodes that are labelled alike.
	ServiceAffinity = "ServiceAffinity"
	// LoadAware keeps pods off nodes that are, or are about to be, too busy, and prefers the least
	// busy nodes. The plugin is Koordinator's, and goes by measured usage.
	LoadAware = "LoadAware"
	// WholeDomains prefers nodes in racks, or other domains of the network, that have pods already, so that others stay
	// whole for gangs.
	WholeDomains = "WholeDomains"
)

// AllPlugins is the name that stands for all default plugins in a disabled list.
const AllPlugins = "*"

// PluginArgs are the arguments of a plugin. Users write their JSON form under pluginConfig[].args;
// a zero field means its default.
type PluginArgs interface {
	setDefaults()
	validate(path *field.Path) field.ErrorList
}

// Use says whether a plugin exists at an extension point and runs there.
type Use int

const (
	// Never means that the plugin does not exist at the extension point.
	Never Use = iota
	// OnRequest means that the plugin runs when a profile enables it.
	OnRequest
	// ByDefault means that the plugin runs unless a profile disables it.
	ByDefault
)

// KnownPlugin describes a plugin that profiles may name.
type KnownPlugin struct {
	// Name is the name of the plugin.
	Name string
	// InTree says whether kube-scheduler has a plugin of this name.
	InTree bool
	// Partial says that the plugin is a part of kube-scheduler's: it takes nothing off kube-scheduler.
	Partial bool
	// Filter says whether the plugin filters nodes.
	Filter Use
	// Score says whether the plugin scores nodes.
	Score Use
	// Weight is the weight of its score in the default set.
	Weight int32
	// NewArgs returns zero arguments to decode into; nil when the plugin takes none.
	NewArgs func() PluginArgs
}

// KnownPlugins is the one table of plugins, in the order in which they run.
func KnownPlugins() []KnownPlugin {
	return []KnownPlugin{
		{Name: NodeUnschedulable, InTree: true, Filter: ByDefault},
		{Name: NodeName, InTree: true, Filter: ByDefault},
		{Name: TaintToleration, InTree: true, Filter: ByDefault, Score: ByDefault, Weight: 3},
		{
			Name:    NodeAffinity,
			InTree:  true,
			Filter:  ByDefault,
			Score:   ByDefault,
			Weight:  2,
			NewArgs: func() PluginArgs { return new(NodeAffinityArgs) },
		},
		{Name: NodePorts, InTree: true, Filter: ByDefault},
		{
			Name:    NodeResourcesFit,
			InTree:  true,
			Filter:  ByDefault,
			Score:   ByDefault,
			Weight:  1,
			NewArgs: func() PluginArgs { return new(NodeResourcesFitArgs) },
		},
		{Name: VolumeRestrictions, InTree: true, Filter: ByDefault},
		{Name: NodeVolumeLimits, InTree: true, Filter: ByDefault},
		{Name: VolumeBinding, InTree: true, Partial: true, Filter: ByDefault},
		{Name: VolumeZone, InTree: true, Filter: ByDefault},
		{
			Name:    PodTopologySpread,
			InTree:  true,
			Filter:  ByDefault,
			Score:   ByDefault,
			Weight:  2,
			NewArgs: func() PluginArgs { return new(PodTopologySpreadArgs) },
		},
		{
			Name:    InterPodAffinity,
			InTree:  true,
			Filter:  ByDefault,
			Score:   ByDefault,
			Weight:  2,
			NewArgs: func() PluginArgs { return new(InterPodAffinityArgs) },
		},
		{
			Name:    NodeResourcesBalancedAllocation,
			InTree:  true,
			Score:   ByDefault,
			Weight:  1,
			NewArgs: func() PluginArgs { return new(NodeResourcesBalancedAllocationArgs) },
		},
		{Name: ImageLocality, InTree: true, Score: ByDefault, Weight: 1},
		{Name: NodeDeclaredFeatures, InTree: true, Filter: ByDefault},
		{Name: DynamicResources, InTree: true, Partial: true, Filter: ByDefault},
		{Name: NodeConditions, Filter: OnRequest},
		{Name: ServiceAffinity, Filter: OnRequest, NewArgs: func() PluginArgs { return new(ServiceAffinityArgs) }},
		{Name: LoadAware, Filter: OnRequest, Score: OnRequest, NewArgs: func() PluginArgs { return new(LoadAwareSchedulingArgs) }},
		{Name: WholeDomains, Score: OnRequest, NewArgs: func() PluginArgs { return new(WholeDomainsArgs) }},
	}
}

// FindPlugin returns the plugin of that name, and whether there is one.
func FindPlugin(name string) (KnownPlugin, bool) {
	plugins := KnownPlugins()
	i := slices.IndexFunc(plugins, func(plugin KnownPlugin) bool { return plugin.Name == name })
	if i < 0 {
		return KnownPlugin{}, false
	}
	return plugins[i], true
}

func isKnown(name string) bool {
	_, known := FindPlugin(name)
	return known
}

// pluginsAt returns the plugins whose use at an extension point is at least the given
// one.
func pluginsAt(point func(KnownPlugin) Use, least Use) []KnownPlugin {
	return slices.DeleteFunc(KnownPlugins(), func(plugin KnownPlugin) bool { return point(plugin) < least })
}

func atFilter(plugin KnownPlugin) Use { return plugin.Filter }

func atScore(plugin KnownPlugin) Use { return plugin.Score }

func defaultPlugins(point func(KnownPlugin) Use) []WeightedPlugin {
	var plugins []WeightedPlugin
	for _, plugin := range pluginsAt(point, ByDefault) {
		plugins = append(plugins, WeightedPlugin{Name: plugin.Name, Weight: &plugin.Weight})
	}
	return plugins
}

func pluginNames(plugins []KnownPlugin) []string {
	var names []string
	for _, plugin := range plugins {
		names = append(names, plugin.Name)
	}
	return names
}
