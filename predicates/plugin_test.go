package predicates

import (
	"fmt"
	"strings"
	"testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// picky is a plugin of another package that has one reason or another against every node.
type picky struct{ verdict Verdict }

func (picky) Name() string { return config.LoadAware }

func (picky) Aspects() cluster.Aspect { return 0 }

func (p picky) For(*cluster.Pod, *cluster.Snapshot) Check {
	return CheckFunc(func(*cluster.Node) Verdict { return p.verdict })
}

// pickyPlugin has the second of its reasons against nodes, whatever is evicted.
func pickyPlugin(reasons ...string) Plugin {
	return Plugin{
		Name: config.LoadAware, Reasons: reasons,
		Filter: func(first Verdict) Predicate { return picky{(first + 1).Hopeless()} },
		Reads:  func(pod *cluster.Pod) string { return pod.Annotations["mood"] },
	}
}

func withLoadAware() *config.Profile {
	return &config.Profile{Equivalence: config.EquivalenceTemplate, Plugins: config.Plugins{
		Filter: config.PluginSet{
			Enabled:  []config.Plugin{{Name: config.LoadAware}},
			Disabled: []config.Plugin{{Name: config.AllPlugins}},
		},
	}}
}

func TestAPluginOfAnotherPackageHasReasonsOfItsOwn(t *testing.T) {
	profile, err := NewProfile(
		withLoadAware(), Plugin{Name: "Other", Reasons: []string{"not this"}}, pickyPlugin("nor this", "node(s) were dull"),
	)
	if err != nil {
		t.Fatal(err)
	}
	snap, node, pod := scene{node: node(), pod: pod()}.raise(t)
	verdict := profile.Judge(pod, snap).Verdict(node)
	if got := profile.Reason(verdict, nil); got != "node(s) were dull" {
		t.Errorf("reason %q", got)
	}
	if verdict.Resolvable() {
		t.Error("evicting pods is said to help")
	}
}

func TestAPluginOfAnotherPackageTellsPodsApartWhereItRuns(t *testing.T) {
	calm, cross := pod(), pod()
	calm.Annotations, cross.Annotations = map[string]string{"mood": "calm"}, map[string]string{"mood": "cross"}
	for cfg, apart := range map[*config.Profile]bool{withLoadAware(): true, {Equivalence: config.EquivalenceTemplate}: false} {
		profile, err := NewProfile(cfg, pickyPlugin("one", "two"))
		if err != nil {
			t.Fatal(err)
		}
		c := classes{equivalence: profile.equivalence, plugins: profile.plugins}
		if got := c.of(cluster.NewPod(calm)) != c.of(cluster.NewPod(cross)); got != apart {
			t.Errorf("two classes: %v, want %v", got, apart)
		}
	}
}

func TestAProfileCannotBeMadeWithoutThePluginsThatItTurnsOn(t *testing.T) {
	for name, test := range map[string]struct {
		plugins []Plugin
		want    string
	}{
		"it is not given":          {nil, `plugin "LoadAware" is not known`},
		"it does not filter":       {[]Plugin{{Name: config.LoadAware}}, `plugin "LoadAware" does not filter`},
		"it has too many reasons":  {[]Plugin{pickyPlugin(make([]string, 129)...)}, "129 reasons of plugins: there must be at most 128"},
		"it has as many as it may": {[]Plugin{pickyPlugin(make([]string, 128)...)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := NewProfile(withLoadAware(), test.plugins...)
			if got := strings.TrimSuffix(fmt.Sprint(err), "<nil>"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
