package config

import (
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Profile says how the pods of one scheduler name are treated.
type Profile struct {
	// SchedulerName selects the pods by their spec.schedulerName. Defaults to
	// default-scheduler when there is one profile; required when there are more.
	SchedulerName string `json:"schedulerName"`
	// NodeSelection says who picks the node: Scheduler (default) or Muster. Change it when kube-scheduler is too slow
	// for the cluster, or cannot be configured.
	NodeSelection NodeSelection `json:"nodeSelection"`
	// Gates says how long a scheduling gate keeps pods from kube-scheduler: Never (default), UntilMembers or
	// UntilPlace. The API server adds the gates when pods are created, by the policy of 'muster gate-policy' or by
	// serving.webhookListen; muster lifts them. Change it when gangs are to start without held bind calls, or where
	// kube-scheduler cannot be configured.
	Gates Gates `json:"gates"`
	// DefaultFor lists kinds of gangs.kinds whose pods get this SchedulerName when they are created, if they name no
	// scheduler, in all namespaces but kube-system and muster's own. A namespace with the label muster.dev/scheduler has the
	// profile that this names, for all of its pods. The API server does so, by the policy of 'muster scheduler-policy' or, before
	// Kubernetes 1.36, by serving.webhookListen. A pod that shows several kinds goes to the first profile that lists one.
	// Change it when nobody should have to write schedulerName into a JobSet or a RayCluster. Defaults to none.
	DefaultFor []GangKind `json:"defaultFor,omitempty"`
	// Equivalence says which pods share verdicts: ControllerRef (default) or Template. Change it when many controllers
	// have pods that are alike, as Jobs of one pod each.
	Equivalence Equivalence `json:"equivalence"`
	// Offload says that kube-scheduler leaves to muster the plugins that muster runs for this profile, which `muster
	// scheduler-config` then turns off in kube-scheduler's own. Needs nodeSelection: Muster and every default filter
	// plugin. Turn it on when kube-scheduler should not do twice what muster does. Defaults to false.
	Offload bool `json:"offload"`
	// Shortlist is the greatest number of nodes that filter answers with, with nodeSelection:
	// Scheduler: the nodes that kube-scheduler's own scores rate best. Muster knows these scores
	// without looking at every node again. kube-scheduler picks one of these nodes, and scores no
	// others. Filter answers with all nodes that fit when Shortlist is 0, when the profile runs
	// LoadAware, and for pods that claim devices or volumes, as kube-scheduler scores these in ways
	// of its own. Set it to 0 where kube-scheduler has other score plugins, weights or arguments
	// than `muster scheduler-config` prints. Defaults to 32.
	Shortlist *int32 `json:"shortlist,omitempty"`
	// ReserveAfter is gangs.reserveAfter for gangs whose pods are of this profile, 0s for no room booked for them. Set it where gangs of
	// one profile are to wait for longer than others, or to have no room booked for them. Defaults to gangs.reserveAfter.
	ReserveAfter *metav1.Duration `json:"reserveAfter,omitempty"`
	// Plugins change the default plugins of each extension point.
	Plugins Plugins `json:"plugins"`
	// PluginConfig holds the arguments of plugins, one entry per plugin. Defaults to
	// the default arguments of every plugin that runs.
	PluginConfig []PluginConfig `json:"pluginConfig,omitempty"`
}

// NodeSelection says who picks the node of a pod.
type NodeSelection string

const (
	// NodeSelectionScheduler lets kube-scheduler pick: filter answers with the best nodes that fit
	// (shortlist). kube-scheduler gives the profile's scores that it has, as `muster
	// scheduler-config` tells it; muster adds the others.
	NodeSelectionScheduler NodeSelection = "Scheduler"
	// NodeSelectionMuster lets muster pick: filter answers with the single best node, and
	// kube-scheduler skips its own scores. While a backlog waits on a slow kube-scheduler, and gates is not
	// UntilPlace, muster also places pods over all nodes before it asks, and nominates them
	// (status.nominatedNodeName), so that kube-scheduler looks at that node first and alone.
	NodeSelectionMuster NodeSelection = "Muster"
)

// Gates says how long pods are gated.
type Gates string

const (
	// GatesNever gates no pod, and lifts the gates that there are.
	GatesNever Gates = "Never"
	// GatesUntilMembers gates members of gangs until all members of their gang exist that must start
	// together.
	GatesUntilMembers Gates = "UntilMembers"
	// GatesUntilPlace gates members of gangs, and pods that are opted in (label muster.dev/ahead of the pod
	// or its namespace), until muster has a place for them, whose room it keeps through the API alone:
	// kube-scheduler need not know of muster. Needs nodeSelection: Muster. Cluster autoscalers do not see
	// gated pods.
	GatesUntilPlace Gates = "UntilPlace"
)

// Equivalence says which pods are alike, so that they share verdicts and scores.
type Equivalence string

const (
	// EquivalenceControllerRef takes pods as alike that have the same controller and
	// agree in every field that a plugin reads.
	EquivalenceControllerRef Equivalence = "ControllerRef"
	// EquivalenceTemplate takes pods as alike that agree in every field that a plugin
	// reads, whatever their controllers; but not pods of two controllers that are each
	// spread by default.
	EquivalenceTemplate Equivalence = "Template"
)

// Plugins change the default plugins of each extension point.
type Plugins struct {
	// Filter plugins decide which nodes a pod fits.
	Filter PluginSet `json:"filter,omitzero"`
	// Score plugins rank the nodes that a pod fits.
	Score ScoreSet `json:"score,omitzero"`
}

// PluginSet changes the default plugins of one extension point. The defaults that are not disabled
// run first, in their order; the enabled plugins follow. Enabling a default plugin that is not
// disabled sets its weight and leaves it in its place.
type PluginSet struct {
	// Enabled plugins run in addition to the default ones.
	Enabled []Plugin `json:"enabled,omitempty"`
	// Disabled plugins are default plugins that do not run. The name '*' stands for
	// all of them.
	Disabled []Plugin `json:"disabled,omitempty"`
}

// ScoreSet changes the default score plugins, by the rules of a PluginSet.
type ScoreSet struct {
	// Enabled plugins run in addition to the default ones, or with another weight.
	Enabled []WeightedPlugin `json:"enabled,omitempty"`
	// Disabled plugins are default plugins that do not run. The name '*' stands for
	// all of them.
	Disabled []Plugin `json:"disabled,omitempty"`
}

// Plugin names a plugin at an extension point.
type Plugin struct {
	// Name is the name of the plugin, as kube-scheduler spells it. The names that
	// kube-scheduler gave to predicates (as filters) and priorities (as scores) before it
	// had plugins are accepted and stand for the plugins that do the same today:
	// GeneralPredicates for NodeResourcesFit, NodeName, NodePorts and NodeAffinity, any
	// of the Max…VolumeCount for NodeVolumeLimits, LeastRequestedPriority for
	// NodeResourcesFit. So is LoadAwareScheduling, as Koordinator spells LoadAware. A decoded
	// configuration holds today's names only.
	Name string `json:"name"`
}

// WeightedPlugin names a score plugin that runs.
type WeightedPlugin struct {
	// Name is the name of the plugin, as of a Plugin.
	Name string `json:"name"`
	// Weight multiplies the plugin's score, 1 to 100. Raise it when what the plugin scores matters more than the others.
	// Defaults to 1.
	Weight *int32 `json:"weight,omitempty"`
}

// weighted returns the set as one of plugins whose weight does not matter.
func (s PluginSet) weighted() ScoreSet {
	set := ScoreSet{Disabled: s.Disabled}
	for _, plugin := range s.Enabled {
		set.Enabled = append(set.Enabled, WeightedPlugin{Name: plugin.Name})
	}
	return set
}

func (p Plugin) name() string { return p.Name }

func (p WeightedPlugin) name() string { return p.Name }

// named is a plugin of a set.
type named interface{ name() string }

// PluginConfig holds the arguments of one plugin, at all of its extension points.
type PluginConfig struct {
	// Name is the name of the plugin, or an old name that stands for it alone.
	Name string `json:"name"`
	// Args are the plugin's arguments. In a decoded configuration they are a pointer
	// to the plugin's own type, such as *NodeResourcesFitArgs. Read them with the method
	// of Profile that is named after that type.
	Args any `json:"args,omitempty"`
	// Ignored has a line for each field that decoding the arguments left out, with its path: fields
	// of Koordinator's arguments that muster does not go by.
	Ignored []string `json:"-"`
}

// ScorePlugin is a score plugin that runs, and the weight of its score.
type ScorePlugin struct {
	// Name is the name of the plugin.
	Name string
	// Weight multiplies the plugin's score, 1 to 100.
	Weight int64
}

// FilterPlugins returns the names of the filter plugins that run, in their order.
func (p *Profile) FilterPlugins() []string {
	var names []string
	for _, plugin := range p.Plugins.renamed().Filter.weighted().applyTo(defaultPlugins(atFilter)) {
		names = append(names, plugin.Name)
	}
	return names
}

// ScorePlugins returns the score plugins by which nodes are ranked, in their order, whether muster runs them or leaves
// them to kube-scheduler.
func (p *Profile) ScorePlugins() []ScorePlugin {
	var scores []ScorePlugin
	for _, plugin := range p.Plugins.renamed().Score.applyTo(defaultPlugins(atScore)) {
		scores = append(scores, ScorePlugin{Name: plugin.Name, Weight: int64(plugin.weight())})
	}
	return scores
}

// OwnScores returns the score plugins that muster runs: all of them, except where kube-scheduler picks the node and gives
// the scores that it has itself.
func (p *Profile) OwnScores() []ScorePlugin {
	scores := p.ScorePlugins()
	if p.NodeSelection != NodeSelectionScheduler {
		return scores
	}
	return slices.DeleteFunc(scores, func(score ScorePlugin) bool {
		known, _ := FindPlugin(score.Name)
		return known.InTree
	})
}

// PlacesGated reports whether pods of some profile are placed while they are gated.
func (c *Configuration) PlacesGated() bool {
	return slices.ContainsFunc(c.Profiles, func(p Profile) bool { return p.Gates == GatesUntilPlace })
}

// IsDefault reports whether a profile has the default plugins with their default arguments, as a kube-scheduler
// without configuration has them.
func (p *Profile) IsDefault() bool {
	plain := Profile{}
	return slices.Equal(p.FilterPlugins(), plain.FilterPlugins()) && slices.Equal(p.ScorePlugins(), plain.ScorePlugins()) &&
		len(p.ChangedArgs()) == 0
}

// ChangedArgs returns the arguments of plugins that are other ones than by default, by today's names of the plugins.
func (p *Profile) ChangedArgs() []PluginConfig {
	var changed []PluginConfig
	for _, c := range p.PluginConfig {
		if plugin, _ := c.plugin(); c.changes() {
			changed = append(changed, PluginConfig{Name: plugin.Name, Args: c.Args})
		}
	}
	return changed
}

// changes reports whether arguments are other ones than a plugin has by default.
func (c PluginConfig) changes() bool {
	plugin, known := c.plugin()
	if !known || plugin.NewArgs == nil || c.Args == nil {
		return false
	}
	plain := plugin.NewArgs()
	plain.setDefaults()
	return !reflect.DeepEqual(c.Args, plain)
}

// ShortlistSize is how many nodes filter answers with at most, 0 for all that fit.
func (p *Profile) ShortlistSize() int {
	if p.Shortlist == nil || p.NodeSelection != NodeSelectionScheduler || len(p.OwnScores()) > 0 || p.runsLoadAware() {
		return 0
	}
	return int(*p.Shortlist)
}

// WithSchedulerScores is the profile with the scores that it leaves to kube-scheduler as well,
// for those who foresee where a pod goes.
func (p *Profile) WithSchedulerScores() *Profile {
	whole := *p
	whole.NodeSelection = NodeSelectionMuster
	return &whole
}

// runsLoadAware says whether LoadAware filters or scores.
func (p *Profile) runsLoadAware() bool {
	return slices.Contains(p.FilterPlugins(), LoadAware) ||
		slices.ContainsFunc(p.ScorePlugins(), func(score ScorePlugin) bool { return score.Name == LoadAware })
}

// applyTo turns the default plugins into the plugins that run, by the rules of kube-scheduler's
// mergePluginSet.
func (s ScoreSet) applyTo(defaults []WeightedPlugin) []WeightedPlugin {
	plugins := slices.DeleteFunc(defaults, func(plugin WeightedPlugin) bool {
		return indexOf(s.Disabled, AllPlugins) >= 0 || indexOf(s.Disabled, plugin.Name) >= 0
	})
	for _, plugin := range s.Enabled {
		if i := indexOf(plugins, plugin.Name); i >= 0 {
			plugins[i] = plugin
		} else {
			plugins = append(plugins, plugin)
		}
	}
	return plugins
}

// weight returns the weight of a score plugin.
func (p WeightedPlugin) weight() int32 {
	if p.Weight == nil {
		return 1
	}
	return *p.Weight
}

func indexOf[P named](plugins []P, name string) int {
	return slices.IndexFunc(plugins, func(plugin P) bool { return plugin.name() == name })
}

// argsOf returns the profile's arguments of type A, or that type's defaults when the
// profile has none.
func argsOf[A any, P interface {
	*A
	PluginArgs
}](p *Profile) P {
	for _, config := range p.PluginConfig {
		if args, ok := config.Args.(P); ok {
			return args
		}
	}
	args := P(new(A))
	args.setDefaults()
	return args
}
