package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	inTree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"

	"muster.dev/muster/api/config"
)

// CONFORMANCE_CASES is how many pods on nodes are tried.
func TestMusterAndKubeSchedulerGiveTheSameAnswersInRandomScenarios(t *testing.T) {
	c := begin(t)
	judge, wanted := c.judge, size(t, "CONFORMANCE_CASES", 50_000, 400_000)
	c.hear(wanted, func(seed uint64) error { return judge.Hear(t.Context(), Generate(seed)) })
	fmt.Printf("figure conformance_cases=%d\n", judge.Cases)
	fmt.Printf("figure conformance_disagreements=%d\n", judge.Disagreements)
	fmt.Printf("figure conformance_undecided=%d\n", judge.Undecided)
	fmt.Printf("figure conformance_cases_%s=%d\n", release, judge.Cases)
	fmt.Printf("figure conformance_disagreements_%s=%d\n", release, judge.Disagreements)
	if c.expects() && wanted >= 10_000 {
		checkOutcomes(t, judge.Outcomes)
	}
}

// checkOutcomes fails when the scenarios were too tame to tell right from wrong.
func checkOutcomes(t *testing.T, outcomes map[string]map[Outcome]int) {
	t.Helper()
	for _, plugin := range config.KnownPlugins() {
		if found := outcomes[plugin.Name+" filter"]; found != nil {
			t.Logf("%s filter: %v", plugin.Name, found)
			checkCodes(t, plugin.Name, found)
		}
		if found := outcomes[plugin.Name+" score"]; found != nil {
			t.Logf("%s score: %d different ones", plugin.Name, len(found))
			if len(found) < 4 {
				t.Errorf("%s gives only the scores %v", plugin.Name, found)
			}
		}
	}
}

// leastShare is the smallest share of a plugin's answers that each of its codes has.
const leastShare = 1.0 / 1000

// checkCodes fails when a plugin hardly ever accepts a node that it looks at, or rejects one in a way that it has.
func checkCodes(t *testing.T, name string, found map[Outcome]int) {
	t.Helper()
	all, codes := 0, map[fwk.Code]int{fwk.Success: 0}
	for _, code := range rejections(name) {
		codes[code] = 0
	}
	for outcome, times := range found {
		if all += times; outcome.What != "skipped" {
			codes[outcome.Code] += times
		}
	}
	for code, times := range codes {
		if code != fwk.Error && float64(times) < leastShare*float64(all) {
			t.Errorf("%s says %v %d times of %d", name, code, times, all)
		}
	}
}

// rejections are the codes with which a plugin of kube-scheduler rejects nodes.
func rejections(plugin string) []fwk.Code {
	switch plugin {
	case config.NodePorts:
		return []fwk.Code{fwk.Unschedulable}
	case config.NodeResourcesFit, config.VolumeRestrictions, config.NodeVolumeLimits, config.PodTopologySpread, config.InterPodAffinity:
		return []fwk.Code{fwk.Unschedulable, fwk.UnschedulableAndUnresolvable}
	default:
		return []fwk.Code{fwk.UnschedulableAndUnresolvable}
	}
}

func TestMusterAndKubeSchedulerAgreeWhereTheyOnceDidNot(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			scenario, err := Read(data)
			if err != nil {
				t.Fatal(err)
			}
			c := &campaign{T: t, judge: newJudge(t)}
			c.hear(1, func(uint64) error { return c.judge.Hear(t.Context(), scenario) })
		})
	}
}

func TestEveryPluginIsHeldAgainstKubeSchedulerUnlessItHasNone(t *testing.T) {
	registry := inTree.NewInTreeRegistry()
	var known, held []string
	takesArgs := map[string]bool{}
	for _, plugin := range config.KnownPlugins() {
		known = append(known, plugin.Name)
		takesArgs[plugin.Name] = plugin.NewArgs != nil
	}
	for _, plugin := range plugins() {
		held = append(held, plugin.name)
		if (plugin.args != nil) != takesArgs[plugin.name] {
			t.Errorf("%s takes arguments: %v; arguments are drawn for it: %v", plugin.name, takesArgs[plugin.name], plugin.args != nil)
		}
		if _, has := registry[plugin.name]; has == (plugin.absent != "") && plugin.name != config.VolumeBinding {
			t.Errorf("%s is in kube-scheduler: %v; the reason why not: %q", plugin.name, has, plugin.absent)
		}
	}
	if diff := cmp.Diff(known, held); diff != "" {
		t.Errorf("plugins in the configuration and in conformance (-known +held):\n%s", diff)
	}
}

func TestTheSameSeedDrawsTheSameScenario(t *testing.T) {
	t.Parallel()
	for name, generate := range map[string]func(seed uint64) *Scenario{"of verdicts": Generate, "of preemption": GeneratePreemption} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(generate(7), generate(7)); diff != "" {
				t.Error(diff)
			}
			if cmp.Equal(generate(7), generate(8)) {
				t.Error("another seed draws the same")
			}
		})
	}
}

func TestAnAnswerIsRepeatedOnlyWithTheSameCodeScoreAndReason(t *testing.T) {
	unschedulable := Answer{Code: fwk.Unschedulable, Reasons: []string{"Too many pods", "Insufficient cpu"}, Score: 3}
	named := Answer{Code: fwk.Unschedulable, Reasons: []string{"x.csi.example.com CSI driver is missing"}}
	wrapped := Answer{Code: fwk.Unschedulable, Reasons: []string{`looking up PVC default/x: claim "x" not found`}}
	for name, test := range map[string]struct {
		theirs, ours Answer
		want         bool
	}{
		"both fit":               {Answer{}, Answer{}, true},
		"the first reason":       {unschedulable, Answer{Code: fwk.Unschedulable, Reasons: []string{"Too many pods"}, Score: 3}, true},
		"another of the reasons": {unschedulable, Answer{Code: fwk.Unschedulable, Reasons: []string{"Insufficient cpu"}, Score: 3}, true},
		"one of the reasons, where all are told": {
			Answer{Code: fwk.Unschedulable, Reasons: []string{"Too many pods", "Insufficient cpu"}, AllReasons: true},
			Answer{Code: fwk.Unschedulable, Reasons: []string{"Too many pods"}},
			false,
		},
		"a reason of its own": {unschedulable, Answer{Code: fwk.Unschedulable, Reasons: []string{"Insufficient memory"}, Score: 3}, false},
		"another score":       {unschedulable, Answer{Code: fwk.Unschedulable, Reasons: []string{"Too many pods"}}, false},
		"another code": {
			unschedulable, Answer{Code: fwk.UnschedulableAndUnresolvable, Reasons: []string{"Too many pods"}, Score: 3}, false,
		},
		"it fits after all":        {unschedulable, Answer{Score: 3}, false},
		"a name left out":          {named, Answer{Code: fwk.Unschedulable, Reasons: []string{"CSI driver is missing"}}, true},
		"the cause without a name": {wrapped, Answer{Code: fwk.Unschedulable, Reasons: []string{"claim not found"}}, true},
		"two words left out":       {named, Answer{Code: fwk.Unschedulable, Reasons: []string{"driver is missing"}}, false},
		"any rejection will do": {
			Answer{Code: fwk.Error, AnyRejection: true}, Answer{Code: fwk.Unschedulable, Reasons: []string{"any"}}, true,
		},
		"a rejection is due":  {Answer{Code: fwk.Error, AnyRejection: true}, Answer{}, false},
		"no score to compare": {Answer{Unscored: true}, Answer{Score: 3}, true},
		"ruled out before a reason came": {
			Answer{Code: fwk.UnschedulableAndUnresolvable}, Answer{Code: fwk.UnschedulableAndUnresolvable, Reasons: []string{"any"}}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.theirs.repeatedBy(test.ours); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestTheSmallestScenarioHasOnlyWhatItNeeds(t *testing.T) {
	scenario, err := Read([]byte(`
nodes: [{metadata: {name: a}}, {metadata: {name: b, labels: {x: y}}}, {metadata: {name: c}}]
placed:
- {metadata: {name: other, uid: "1"}, spec: {nodeName: a}}
- {metadata: {name: needed, uid: "2", labels: {app: web, tier: front}}, spec: {nodeName: b, tolerations: [{key: k}, {key: l}, {key: m}]}}
- {metadata: {name: another, uid: "3"}, spec: {nodeName: c}}
pending: [{metadata: {name: p, namespace: shop}}]
objects:
  services: [{metadata: {name: s}}]
  namespaces: [{metadata: {name: shop, labels: {team: red}}}, {metadata: {name: default}}]
profile: {filter: [NodeName]}
`))
	if err != nil {
		t.Fatal(err)
	}
	got := smallest(scenario, func(s *Scenario) bool {
		return slices.ContainsFunc(s.Objects.Namespaces, func(n *corev1.Namespace) bool { return n.Labels["team"] == "red" }) &&
			slices.ContainsFunc(s.Placed, func(p *corev1.Pod) bool {
				return p.Labels["app"] == "web" && slices.Contains(p.Spec.Tolerations, corev1.Toleration{Key: "l"})
			})
	})
	want := `nodes:
- metadata:
    name: b
objects:
  namespaces:
  - metadata:
      labels:
        team: red
pending:
- {}
placed:
- metadata:
    labels:
      app: web
    uid: "2"
  spec:
    nodeName: b
    tolerations:
    - key: l
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheSearchForTheSmallestScenarioEnds(t *testing.T) {
	t.Parallel()
	tried := 0
	smallest(GeneratePreemption(7), func(*Scenario) bool { tried++; return false })
	if tried == 0 || tried > mostTrials {
		t.Errorf("%d trials, want some and at most %d", tried, mostTrials)
	}
}
