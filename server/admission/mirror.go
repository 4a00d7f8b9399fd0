package admission

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"muster.dev/muster/api/config"
)

// mirror has a profile of kube-scheduler filter and score as muster's profile says, as far as kube-scheduler has the
// plugins and muster leaves them to it. So a pod goes where the profile says, whichever of the two picks the node.
func mirror(to *schedulerv1.KubeSchedulerProfile, from *config.Profile, preemption bool) error {
	filters, scores := from.FilterPlugins(), from.ScorePlugins()
	var plugins schedulerv1.Plugins
	for _, known := range config.KnownPlugins() {
		if !known.InTree || known.Partial {
			continue
		}
		name := schedulerv1.Plugin{Name: known.Name}
		if known.Filter == config.ByDefault && offFilter(from, known.Name, filters, preemption) {
			plugins.PreFilter.Disabled = append(plugins.PreFilter.Disabled, name)
			plugins.Filter.Disabled = append(plugins.Filter.Disabled, name)
		}
		if known.Score != config.ByDefault {
			continue
		}
		at := slices.IndexFunc(scores, func(s config.ScorePlugin) bool { return s.Name == known.Name })
		switch {
		case at < 0 || from.Offload:
			plugins.PreScore.Disabled = append(plugins.PreScore.Disabled, name)
			plugins.Score.Disabled = append(plugins.Score.Disabled, name)
		case scores[at].Weight != int64(known.Weight):
			name.Weight = new(int32(scores[at].Weight)) //nolint:gosec // it is 1 to 100
			plugins.Score.Enabled = append(plugins.Score.Enabled, name)
		}
	}
	if len(plugins.Filter.Disabled)+len(plugins.Score.Disabled)+len(plugins.Score.Enabled) > 0 {
		to.Plugins = &plugins
	}
	return mirrorArgs(to, from)
}

// offFilter says that a filter plugin of kube-scheduler's is off: muster runs it alone, or the profile has it off.
func offFilter(from *config.Profile, name string, runs []string, preemption bool) bool {
	if !from.Offload {
		return !slices.Contains(runs, name)
	}
	return !preemption || name != config.NodeResourcesFit
}

// mirrorArgs gives kube-scheduler's plugins the arguments that the profile changes.
func mirrorArgs(to *schedulerv1.KubeSchedulerProfile, from *config.Profile) error {
	for _, changed := range from.ChangedArgs() {
		if known, _ := config.FindPlugin(changed.Name); !known.InTree {
			continue
		}
		raw, err := encodeArgs(changed)
		if err != nil {
			return fmt.Errorf("profile %q: arguments of %s: %w", from.SchedulerName, changed.Name, err)
		}
		to.PluginConfig = append(to.PluginConfig, schedulerv1.PluginConfig{Name: changed.Name, Args: runtime.RawExtension{Raw: raw}})
	}
	return nil
}

// encodeArgs writes arguments as kube-scheduler reads them: the same fields, and what type they are of.
func encodeArgs(plugin config.PluginConfig) ([]byte, error) {
	data, err := json.Marshal(plugin.Args)
	if err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	for name, value := range map[string]string{"apiVersion": schedulerv1.SchemeGroupVersion.String(), "kind": plugin.Name + "Args"} {
		if fields[name], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// Registration names what muster asks of the profiles of a kube-scheduler: "" while that is nothing that
// kube-scheduler does not do by itself, else a hash. It is part of the URL that 'muster scheduler-config' prints, so that
// muster knows by each call whether kube-scheduler was told of the profiles in force.
func Registration(profiles []config.Profile) (string, error) {
	asked := map[string]any{}
	for i := range profiles {
		from := &profiles[i]
		var to schedulerv1.KubeSchedulerProfile
		if err := mirror(&to, from, true); err != nil {
			return "", err
		}
		if scored := prioritizes(from); to.Plugins != nil || to.PluginConfig != nil || scored {
			asked[from.SchedulerName] = struct {
				Profile schedulerv1.KubeSchedulerProfile
				Scored  bool
			}{to, scored}
		}
	}
	if len(asked) == 0 {
		return "", nil
	}
	data, err := json.Marshal(asked)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6]), nil
}

// prioritizes reports whether kube-scheduler learns anything from the scores that muster gives in a profile.
func prioritizes(profile *config.Profile) bool {
	return profile.NodeSelection == config.NodeSelectionScheduler && len(profile.OwnScores()) > 0
}
