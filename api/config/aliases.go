package config

import "maps"

// oldNames holds, for each name that kube-scheduler gave to a predicate or a priority
// before there were plugins, the plugins of today that do the same; and for the name that
// Koordinator gave to a plugin, muster's.
type oldNames map[string][]string

// oldPredicates are the names that stand for filter plugins.
func oldPredicates() oldNames {
	return oldNames{
		"CheckNodeCondition":      {NodeConditions},
		"CheckNodeDiskPressure":   {NodeConditions},
		"CheckNodeMemoryPressure": {NodeConditions},
		"CheckNodePIDPressure":    {NodeConditions},
		"CheckNodeUnschedulable":  {NodeUnschedulable},
		"CheckServiceAffinity":    {ServiceAffinity},
		"EvenPodsSpread":          {PodTopologySpread},
		"GeneralPredicates":       {NodeResourcesFit, NodeName, NodePorts, NodeAffinity},
		"HostName":                {NodeName},
		LoadAwareScheduling:       {LoadAware},
		"MatchInterPodAffinity":   {InterPodAffinity},
		"MatchNodeSelector":       {NodeAffinity},
		"MaxAzureDiskVolumeCount": {NodeVolumeLimits},
		"MaxCSIVolumeCount":       {NodeVolumeLimits},
		"MaxCinderVolumeCount":    {NodeVolumeLimits},
		"MaxEBSVolumeCount":       {NodeVolumeLimits},
		"MaxGCEPDVolumeCount":     {NodeVolumeLimits},
		"NoDiskConflict":          {VolumeRestrictions},
		"NoVolumeZoneConflict":    {VolumeZone},
		"PodFitsHostPorts":        {NodePorts},
		"PodFitsPorts":            {NodePorts},
		"PodFitsResources":        {NodeResourcesFit},
		"PodToleratesNodeTaints":  {TaintToleration},
	}
}

// oldPriorities are the names that stand for score plugins. MostRequestedPriority is not
// among them: which way NodeResourcesFit scores is an argument today.
func oldPriorities() oldNames {
	return oldNames{
		"BalancedResourceAllocation": {NodeResourcesBalancedAllocation},
		"EvenPodsSpreadPriority":     {PodTopologySpread},
		"ImageLocalityPriority":      {ImageLocality},
		"InterPodAffinityPriority":   {InterPodAffinity},
		"LeastRequestedPriority":     {NodeResourcesFit},
		LoadAwareScheduling:          {LoadAware},
		"NodeAffinityPriority":       {NodeAffinity},
		"SelectorSpreadPriority":     {PodTopologySpread}, // by its system defaults
		"ServiceSpreadingPriority":   {PodTopologySpread}, // as well
		"TaintTolerationPriority":    {TaintToleration},
	}
}

// PluginsOfPredicate returns the plugins that do what a predicate did: the name itself when
// no predicate had it.
func PluginsOfPredicate(name string) []string { return oldPredicates().today(name) }

// PluginsOfPriority returns the plugins that do what a priority did: the name itself when no
// priority had it.
func PluginsOfPriority(name string) []string { return oldPriorities().today(name) }

// everyOldName is for where arguments are given to a plugin, whatever it does.
func everyOldName() oldNames {
	names := oldPredicates()
	maps.Copy(names, oldPriorities())
	return names
}

// today returns the names that a name stands for: the table's, else the name itself.
func (o oldNames) today(name string) []string {
	if names, old := o[name]; old {
		return names
	}
	return []string{name}
}

// replaceIn returns plugins by today's names. Among plugins that stand for the same one, the
// first counts.
func replaceIn[P named](o oldNames, plugins []P, rename func(P, string) P) []P {
	var renamed []P
	for _, plugin := range plugins {
		for _, name := range o.today(plugin.name()) {
			if indexOf(renamed, name) < 0 {
				renamed = append(renamed, rename(plugin, name))
			}
		}
	}
	return renamed
}

// replaceOldNames writes today's names over the old ones. It is for after validation,
// whose errors are to name what the user wrote, where they wrote it.
func (c *Configuration) replaceOldNames() {
	for i := range c.Profiles {
		profile := &c.Profiles[i]
		profile.Plugins = profile.Plugins.renamed()
		for j := range profile.PluginConfig {
			config := &profile.PluginConfig[j]
			if plugin, known := config.plugin(); known {
				config.Name = plugin.Name
			}
		}
	}
}

// renamed returns the plugins by today's names.
func (p Plugins) renamed() Plugins {
	filter, score := oldPredicates(), oldPriorities()
	name := func(_ Plugin, name string) Plugin { return Plugin{Name: name} }
	return Plugins{
		Filter: PluginSet{Enabled: replaceIn(filter, p.Filter.Enabled, name), Disabled: replaceIn(filter, p.Filter.Disabled, name)},
		Score: ScoreSet{
			Enabled: replaceIn(score, p.Score.Enabled, func(plugin WeightedPlugin, name string) WeightedPlugin {
				return WeightedPlugin{Name: name, Weight: plugin.Weight}
			}),
			Disabled: replaceIn(score, p.Score.Disabled, name),
		},
	}
}

// plugin returns the plugin that the arguments are for; false when there is none or
// several go by the name.
func (c PluginConfig) plugin() (KnownPlugin, bool) {
	names := everyOldName().today(c.Name)
	if len(names) != 1 {
		return KnownPlugin{}, false
	}
	return FindPlugin(names[0])
}
