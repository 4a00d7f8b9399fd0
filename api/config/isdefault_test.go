package config

import "testing"

func TestAProfileWithAPluginOfItsOwnDoesNotLeaveTheNodeToTheScheduler(t *testing.T) {
	cfg := Default()
	for name, test := range map[string]struct {
		change func(*Profile)
		want   bool
	}{
		"as it is":     {func(*Profile) {}, true},
		"a score less": {func(p *Profile) { p.Plugins.Score.Disabled = []Plugin{{Name: "ImageLocality"}} }, false},
		"a weight": {func(p *Profile) {
			p.Plugins.Score.Enabled = []WeightedPlugin{{Name: "ImageLocality", Weight: new(int32(7))}}
		}, false},
		"LoadAware":            {func(p *Profile) { p.Plugins.Filter.Enabled = []Plugin{{Name: "LoadAware"}} }, false},
		"arguments":            {func(p *Profile) { p.PluginConfig = packing() }, false},
		"the same arguments":   {func(p *Profile) { p.PluginConfig = cfg.Profiles[0].PluginConfig }, true},
		"another scheduler's":  {func(p *Profile) { p.SchedulerName = "x" }, true},
		"equivalence is apart": {func(p *Profile) { p.Equivalence = EquivalenceTemplate }, true},
	} {
		t.Run(name, func(t *testing.T) {
			profile := cfg.Profiles[0]
			profile.NodeSelection, profile.Gates = NodeSelectionMuster, GatesUntilPlace
			test.change(&profile)
			if got := profile.IsDefault(); got != test.want {
				t.Errorf("it decides as kube-scheduler: %t, want %t", got, test.want)
			}
		})
	}
}

// packing are arguments by which nodes are filled.
func packing() []PluginConfig {
	args := Default().Profiles[0].NodeResourcesFitArgs()
	packs := *args
	packs.ScoringStrategy.Type = "MostAllocated"
	return []PluginConfig{{Name: "NodeResourcesFit", Args: &packs}}
}
