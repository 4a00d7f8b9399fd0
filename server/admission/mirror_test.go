package admission

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/api/seeded"
)

// fatal fails a test, or the draw of a property.
type fatal interface {
	Helper()
	Fatal(args ...any)
}

// decoded is the configuration with profiles that are written in YAML.
func decoded(t fatal, profiles string) *config.Configuration {
	t.Helper()
	cfg, err := v1alpha2.Decode([]byte("apiVersion: " + v1alpha2.APIVersion + "\nkind: " + v1alpha2.Kind + "\nprofiles:\n" + profiles))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// printed returns the output of 'muster scheduler-config' for a configuration.
func printed(t fatal, o SchedulerOptions, cfg *config.Configuration) string {
	t.Helper()
	scheduler, err := o.For(cfg)
	if err != nil {
		t.Fatal(err)
	}
	text, err := scheduler.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

const packing = `
- schedulerName: default-scheduler
- schedulerName: pack
  plugins:
    filter: {disabled: [{name: NodePorts}], enabled: [{name: LoadAware}]}
    score:
      enabled: [{name: NodeResourcesFit, weight: 5}, {name: LoadAware, weight: 3}]
      disabled: [{name: PodTopologySpread}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated}}
  - name: InterPodAffinity
    args: {hardPodAffinityWeight: 7}
`

func TestKubeSchedulerIsToldWhatTheProfileLeavesToIt(t *testing.T) {
	text := printed(t, SchedulerOptions{PercentageOfNodes: -1}, decoded(t, packing))
	_, profiles, _ := strings.Cut(text, "\nprofiles:\n")
	want := `- schedulerName: default-scheduler
- pluginConfig:
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: NodeResourcesFitArgs
      scoringStrategy:
        resources:
        - name: cpu
          weight: 1
        - name: memory
          weight: 1
        type: MostAllocated
    name: NodeResourcesFit
  - args:
      apiVersion: kubescheduler.config.k8s.io/v1
      hardPodAffinityWeight: 7
      ignorePreferredTermsOfExistingPods: false
      kind: InterPodAffinityArgs
    name: InterPodAffinity
  plugins:
    filter:
      disabled:
      - name: NodePorts
    preFilter:
      disabled:
      - name: NodePorts
    preScore:
      disabled:
      - name: PodTopologySpread
    score:
      disabled:
      - name: PodTopologySpread
      enabled:
      - name: NodeResourcesFit
        weight: 5
  schedulerName: pack
`
	if diff := cmp.Diff(want, profiles); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(text, "prioritizeVerb: prioritize\n") {
		t.Errorf("muster's score of LoadAware is not asked for:\n%s", text)
	}
}

// drawProfile draws a profile of any plugins, weights and arguments.
func drawProfile(t *rapid.T, name string) config.Profile {
	scores, filters := []string{}, []string{}
	for _, known := range config.KnownPlugins() {
		if known.Score != config.Never {
			scores = append(scores, known.Name)
		}
		if known.Filter == config.ByDefault {
			filters = append(filters, known.Name)
		}
	}
	profile := config.Profile{
		SchedulerName: name, Equivalence: config.EquivalenceControllerRef,
		NodeSelection: rapid.SampledFrom([]config.NodeSelection{
			config.NodeSelectionScheduler, config.NodeSelectionMuster, config.NodeSelectionMuster,
		}).Draw(t, "selection"),
	}
	profile.Offload = profile.NodeSelection == config.NodeSelectionMuster && rapid.Bool().Draw(t, "offload")
	for _, plugin := range rapid.SliceOfNDistinct(rapid.SampledFrom(scores), 0, 4, rapid.ID).Draw(t, "enabled") {
		profile.Plugins.Score.Enabled = append(profile.Plugins.Score.Enabled,
			config.WeightedPlugin{Name: plugin, Weight: new(rapid.Int32Range(1, 100).Draw(t, "weight"))})
		if plugin == config.WholeDomains { // its arguments are required
			profile.PluginConfig = append(profile.PluginConfig,
				config.PluginConfig{Name: plugin, Args: &config.WholeDomainsArgs{Levels: []string{"rack"}}})
		}
	}
	for _, plugin := range rapid.SliceOfNDistinct(rapid.SampledFrom(append(scores, config.AllPlugins)), 0, 3, rapid.ID).Draw(t, "disabled") {
		profile.Plugins.Score.Disabled = append(profile.Plugins.Score.Disabled, config.Plugin{Name: plugin})
	}
	if !profile.Offload {
		for _, plugin := range rapid.SliceOfNDistinct(rapid.SampledFrom(filters), 0, 2, rapid.ID).Draw(t, "filters off") {
			profile.Plugins.Filter.Disabled = append(profile.Plugins.Filter.Disabled, config.Plugin{Name: plugin})
		}
	}
	if rapid.Bool().Draw(t, "packs") {
		profile.PluginConfig = append(profile.PluginConfig, config.PluginConfig{
			Name: config.NodeResourcesFit,
			Args: &config.NodeResourcesFitArgs{ScoringStrategy: config.ScoringStrategy{Type: config.MostAllocated}},
		})
	}
	return profile
}

// completed is the configuration with profiles.
func completed(t fatal, profiles ...config.Profile) *config.Configuration {
	t.Helper()
	cfg := config.Base()
	cfg.Profiles = profiles
	if errs := cfg.Complete(); len(errs) > 0 {
		t.Fatal(errs)
	}
	return cfg
}

// What kube-scheduler is told and what muster gives make the profile's scores, each once.
func TestEveryScoreIsGivenOnce(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		cfg := completed(t, drawProfile(t, "drawn"))
		profile := &cfg.Profiles[0]
		told, err := asProfiles([]byte(printed(t, SchedulerOptions{}, cfg)))
		if err != nil {
			t.Fatal(err)
		}
		if profile.NodeSelection != config.NodeSelectionScheduler {
			return // kube-scheduler is offered one node
		}
		given := map[string]int64{}
		for _, own := range profile.OwnScores() {
			given[own.Name] += own.Weight
		}
		for _, theirs := range told[0].ScorePlugins() {
			given[theirs.Name] += theirs.Weight
		}
		want := map[string]int64{}
		for _, score := range profile.ScorePlugins() {
			want[score.Name] = score.Weight
		}
		if diff := cmp.Diff(want, given); diff != "" {
			t.Errorf("weights by plugin (-the profile's +given by both):\n%s", diff)
		}
		if !profile.Offload && !slices.Equal(inTree(profile.FilterPlugins()), inTree(told[0].FilterPlugins())) {
			t.Errorf("kube-scheduler filters by %q, the profile by %q", told[0].FilterPlugins(), profile.FilterPlugins())
		}
	})
}

// inTree are the plugins, in order, that kube-scheduler has and that muster does all of.
func inTree(names []string) []string {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		known, _ := config.FindPlugin(name)
		return !known.InTree || known.Partial
	})
	slices.Sort(names)
	return names
}

func TestAFileThatWasPrintedContradictsNothing(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		cfg := completed(t, drawProfile(t, "one"), drawProfile(t, "two"))
		o := SchedulerOptions{NoPreemption: rapid.Bool().Draw(t, "no preemption") && (cfg.Profiles[0].Offload || cfg.Profiles[1].Offload)}
		differences, err := Contradictions(cfg, []byte(printed(t, o, cfg)))
		if err != nil || len(differences) > 0 {
			t.Errorf("differences %q, error %v", differences, err)
		}
	})
}

func TestContradictionsNameTheLineToChange(t *testing.T) {
	cfg := decoded(t, packing)
	registration, err := Registration(cfg.Profiles)
	if err != nil {
		t.Fatal(err)
	}
	right := printed(t, SchedulerOptions{}, cfg)
	for name, test := range map[string]struct{ old, instead, want string }{
		"a weight": {"weight: 5\n", "weight: 2\n", "profiles[1].plugins.score.enabled: NodeResourcesFit weighs 2, and 5 in muster's profile: " +
			"write {name: NodeResourcesFit, weight: 5}"},
		"arguments": {
			"hardPodAffinityWeight: 7\n", "hardPodAffinityWeight: 8\n",
			"profiles[1].pluginConfig: InterPodAffinity has other arguments in muster's profile: " +
				`write {name: InterPodAffinity, args: {"hardPodAffinityWeight":7,"ignorePreferredTermsOfExistingPods":false}}`,
		},
		"a filter": {
			"      - name: NodePorts\n", "      - name: NodeName\n",
			"profiles[1].plugins.filter.disabled: NodeName is off, and muster's profile leaves it to kube-scheduler: take {name: NodeName} out\n" +
				"profiles[1].plugins.filter.disabled: NodePorts runs, and is off in muster's profile or left to muster: add {name: NodePorts}",
		},
		"a profile": {"schedulerName: pack\n", "schedulerName: fill\n", "profiles: none has schedulerName: pack"},
		"no prioritize": {
			"  prioritizeVerb: prioritize\n", "",
			"extenders[0].prioritizeVerb: is not set, and muster's profiles have scores of their own: write prioritize",
		},
		"another weight": {
			"  weight: 1\n- bind", "  weight: 9\n- bind",
			"extenders[0].weight: is 9, and muster's profiles have the weights: write 1",
		},
		"another time": {
			RegisteredPath + registration, RegisteredPath + "000000000000",
			"extenders: none with a filterVerb has a urlPrefix that ends in " + RegisteredPath + registration +
				", by which muster knows what kube-scheduler was told",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(right, test.old) {
				t.Fatalf("%q is not in\n%s", test.old, right)
			}
			got, err := Contradictions(cfg, []byte(strings.ReplaceAll(right, test.old, test.instead)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if _, err := Contradictions(cfg, []byte("profiles: 7")); err == nil {
		t.Error("a file that kube-scheduler cannot read contradicts nothing")
	}
}

func TestARegistrationIsOfWhatKubeSchedulerIsTold(t *testing.T) {
	of := func(profiles string) string {
		registration, err := Registration(decoded(t, profiles).Profiles)
		if err != nil {
			t.Fatal(err)
		}
		return registration
	}
	if got := of("- nodeSelection: Muster\n"); got != "" {
		t.Errorf("of profiles that leave kube-scheduler as it is: %q", got)
	}
	seen := map[string]string{"": "nothing"}
	for _, profiles := range []string{
		packing,
		strings.ReplaceAll(packing, "weight: 5", "weight: 6"),
		strings.ReplaceAll(packing, "hardPodAffinityWeight: 7", "hardPodAffinityWeight: 8"),
		strings.ReplaceAll(packing, "schedulerName: pack", "schedulerName: batch"),
		"- offload: true\n  nodeSelection: Muster\n",
		"- plugins: {score: {enabled: [{name: LoadAware}]}}\n",
	} {
		registration := of(profiles)
		if other, is := seen[registration]; is {
			t.Errorf("%q is of both\n%s\nand\n%s", registration, profiles, other)
		}
		seen[registration] = profiles
	}
	if a, b := of(strings.ReplaceAll(packing, "LoadAware, weight: 3", "LoadAware, weight: 4")), of(packing); a != b {
		t.Errorf("%s and %s: a weight that kube-scheduler is not told of changes the registration", a, b)
	}
}
