package v1alpha1

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
)

// The names of providers.
const (
	DefaultProvider           = "DefaultProvider"
	ClusterAutoscalerProvider = "ClusterAutoscalerProvider"
)

// conversion makes a profile, and says what was wrong or lost on the way. What is wrong is
// left out.
type conversion struct {
	profile  config.Profile
	errs     field.ErrorList
	warnings []string
	moves    []move
}

// move is where in the profile something is that was written elsewhere.
type move struct{ to, from *field.Path }

func (c *conversion) convert(old *MusterConfiguration) {
	source := field.NewPath("algorithmSource")
	if policy := old.AlgorithmSource.Policy; policy != nil {
		c.forbidBesidesPolicy(old)
		c.policy(source.Child("policy"), policy)
	} else {
		c.provider(source.Child("provider"), old.AlgorithmSource.Provider)
	}
	c.hardPodAffinitySymmetricWeight(old)
}

// hardPodAffinitySymmetricWeight takes the policy's weight, if it has one, as kube-scheduler does.
func (c *conversion) hardPodAffinitySymmetricWeight(old *MusterConfiguration) {
	const name = "hardPodAffinitySymmetricWeight"
	path, weight := field.NewPath(name), old.HardPodAffinitySymmetricWeight
	if policy := old.AlgorithmSource.Policy; policy != nil && policy.HardPodAffinitySymmetricWeight != 0 {
		inPolicy := field.NewPath("algorithmSource", "policy", name)
		if weight != nil {
			c.warnings = append(c.warnings, fmt.Sprintf("%s: %d is left out: %s takes its place", path, *weight, inPolicy))
		}
		path, weight = inPolicy, &policy.HardPodAffinitySymmetricWeight
	}
	if weight != nil {
		c.hardPodAffinityWeight(path, *weight)
	}
}

func (c *conversion) forbidBesidesPolicy(old *MusterConfiguration) {
	const why = "not together with algorithmSource.policy"
	if provider := old.AlgorithmSource.Provider; provider != "" {
		c.errs = append(c.errs, field.Invalid(field.NewPath("algorithmSource", "provider"), provider, why))
	}
	plugins := old.Plugins
	if len(plugins.Filter.Enabled)+len(plugins.Filter.Disabled)+len(plugins.Score.Enabled)+len(plugins.Score.Disabled) > 0 {
		c.errs = append(c.errs, field.Forbidden(field.NewPath("plugins"), why))
		c.profile.Plugins = config.Plugins{}
	}
	if len(old.PluginConfig) > 0 {
		c.errs = append(c.errs, field.Forbidden(field.NewPath("pluginConfig"), why))
		c.profile.PluginConfig = nil
	}
}

// provider has the profile run the plugins of a provider.
func (c *conversion) provider(path *field.Path, name string) {
	switch name {
	case "", DefaultProvider:
	case ClusterAutoscalerProvider:
		score := &c.profile.Plugins.Score
		decides := func(name string) bool {
			return name == config.AllPlugins || slices.Contains(config.PluginsOfPriority(name), config.NodeResourcesFit)
		}
		enabled := slices.ContainsFunc(score.Enabled, func(plugin config.WeightedPlugin) bool { return decides(plugin.Name) })
		if !enabled && !slices.ContainsFunc(score.Disabled, func(plugin config.Plugin) bool { return decides(plugin.Name) }) {
			score.Enabled = append(score.Enabled, config.WeightedPlugin{Name: config.NodeResourcesFit})
		}
		c.pack(path, name)
	default:
		c.errs = append(c.errs, field.NotSupported(path, name, []string{DefaultProvider, ClusterAutoscalerProvider}))
	}
}

// pack has NodeResourcesFit score nodes higher the more of them is requested, which a value
// at the path asks for.
func (c *conversion) pack(path *field.Path, value string) {
	c.setArg(config.NodeResourcesFit, "scoringStrategy", map[string]any{"type": config.MostAllocated}, path, value)
}

// hardPodAffinityWeight gives InterPodAffinity its argument.
func (c *conversion) hardPodAffinityWeight(path *field.Path, weight int32) {
	if weight < 0 || weight > 100 {
		c.errs = append(c.errs, field.Invalid(path, weight, "must be between 0 and 100"))
		return
	}
	c.setArg(config.InterPodAffinity, "hardPodAffinityWeight", weight, path, weight)
}

// setArg sets an argument of a plugin, which a value at the path stands for.
func (c *conversion) setArg(plugin, arg string, to any, path *field.Path, value any) {
	at := slices.IndexFunc(c.profile.PluginConfig, func(cfg config.PluginConfig) bool {
		return slices.Equal(config.PluginsOfPriority(cfg.Name), []string{plugin}) ||
			slices.Equal(config.PluginsOfPredicate(cfg.Name), []string{plugin})
	})
	if at < 0 {
		c.addArg(plugin, arg, to)
		return
	}
	cfg := &c.profile.PluginConfig[at]
	args, _ := cfg.Args.(map[string]any)
	switch {
	case cfg.Args == nil:
		cfg.Args = map[string]any{arg: to}
	case args == nil: // of a wrong type, as v1alpha2 will say
	case args[arg] != nil:
		c.errs = append(
			c.errs, field.Invalid(path, value, fmt.Sprintf("pluginConfig[%d].args.%s says it as well, and one of them has to go", at, arg)),
		)
	default:
		args[arg] = to
	}
}

// addArg adds the first argument of a plugin that has none yet, and returns the argument's path in the profile.
func (c *conversion) addArg(plugin, arg string, to any) *field.Path {
	c.profile.PluginConfig = append(c.profile.PluginConfig, config.PluginConfig{Name: plugin, Args: map[string]any{arg: to}})
	return field.NewPath("pluginConfig").Index(len(c.profile.PluginConfig)-1).Child("args", arg)
}

// move has errors about a place in the profile name the one that was written.
func (c *conversion) move(to, from *field.Path) { c.moves = append(c.moves, move{to, from}) }

// written is where somebody wrote what is at a path of the profile.
func (c *conversion) written(path string) string {
	for _, moved := range c.moves {
		if below, ok := strings.CutPrefix(path, moved.to.String()); ok && (below == "" || strings.ContainsAny(below[:1], ".[")) {
			return moved.from.String() + below
		}
	}
	return path
}
