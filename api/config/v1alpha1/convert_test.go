package v1alpha1

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/api/seeded"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

func TestFilesAreConvertedWithWhatWasWrittenAndNothingElse(t *testing.T) {
	for _, file := range glob(t, "testdata/valid/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data := read(t, file)
			document, warnings, err := Convert(data)
			if err != nil {
				t.Fatal(err)
			}
			converted, err := yaml.JSONToYAML(document)
			if err != nil {
				t.Fatal(err)
			}
			var golden strings.Builder
			for _, warning := range warnings {
				golden.WriteString("# " + warning + "\n")
			}
			golden.Write(converted)
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".converted", golden.String())
			checkRoundTrip(t, data)
		})
	}
}

func TestFilesThatAreWrongAreRefusedWithEveryErrorAndItsPlace(t *testing.T) {
	for _, file := range glob(t, "testdata/invalid/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			cfg, _, err := Decode(read(t, file))
			all, ok := errors.AsType[utilerrors.Aggregate](err)
			if !ok {
				t.Fatalf("decoded %+v with error %v, want an Aggregate", cfg, err)
			}
			var lines []string
			for _, e := range all.Errors() {
				lines = append(lines, e.Error())
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".errors", strings.Join(lines, "\n")+"\n")
		})
	}
}

func TestEveryPolicyBecomesTheProfileThatDoesTheSame(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		// Each name with what it is to become, by the tables of kube-scheduler 1.18.
		predicates := map[string][]string{
			"PodFitsHostPorts":       {"NodePorts"},
			"PodFitsPorts":           {"NodePorts"},
			"PodFitsResources":       {"NodeResourcesFit"},
			"HostName":               {"NodeName"},
			"MatchNodeSelector":      {"NodeAffinity"},
			"GeneralPredicates":      {"NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"},
			"NoDiskConflict":         {"VolumeRestrictions"},
			"NoVolumeZoneConflict":   {"VolumeZone"},
			"MaxCSIVolumeCount":      {"NodeVolumeLimits"},
			"MaxEBSVolumeCount":      {"NodeVolumeLimits"},
			"CheckNodeUnschedulable": {"NodeUnschedulable"},
			"PodToleratesNodeTaints": {"TaintToleration"},
			"MatchInterPodAffinity":  {"InterPodAffinity"},
			"EvenPodsSpread":         {"PodTopologySpread"},
			"CheckVolumeBinding":     {},
		}
		priorities := map[string]string{
			"LeastRequestedPriority": "NodeResourcesFit", "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
			"NodeAffinityPriority": "NodeAffinity", "TaintTolerationPriority": "TaintToleration", "ImageLocalityPriority": "ImageLocality",
			"InterPodAffinityPriority": "InterPodAffinity", "SelectorSpreadPriority": "PodTopologySpread",
		}
		policy := Policy{Predicates: []PredicatePolicy{}, Priorities: []PriorityPolicy{}}
		filters := map[string]bool{"NodeUnschedulable": true, "TaintToleration": true}
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(sorted(predicates)), rapid.ID).Draw(t, "predicates") {
			policy.Predicates = append(policy.Predicates, PredicatePolicy{Name: name})
			for _, plugin := range predicates[name] {
				filters[plugin] = true
			}
		}
		var scores []config.ScorePlugin
		for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom(sorted(priorities)), rapid.ID).Draw(t, "priorities") {
			weight := rapid.Int32Range(1, 100).Draw(t, "weight")
			policy.Priorities = append(policy.Priorities, PriorityPolicy{Name: name, Weight: weight})
			scores = append(scores, config.ScorePlugin{Name: priorities[name], Weight: int64(weight)})
		}
		weight := rapid.Int32Range(0, 100).Draw(t, "hardPodAffinitySymmetricWeight")
		data, err := yaml.Marshal(map[string]any{
			"apiVersion": APIVersion, "kind": Kind, "schedulerName": "old", "hardPodAffinitySymmetricWeight": weight,
			"algorithmSource": map[string]any{"policy": policy},
		})
		if err != nil {
			t.Fatal(err)
		}
		cfg, _, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		profile := &cfg.Profiles[0]
		if profile.SchedulerName != "old" || len(cfg.Profiles) != 1 {
			t.Errorf("profiles %v, want the one named old", cfg.Profiles)
		}
		got := profile.FilterPlugins()
		slices.Sort(got)
		if diff := cmp.Diff(sorted(filters), got); diff != "" {
			t.Errorf("filters (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(scores, profile.ScorePlugins()); diff != "" {
			t.Errorf("scores (-want +got):\n%s", diff)
		}
		if got := *profile.InterPodAffinityArgs().HardPodAffinityWeight; got != weight {
			t.Errorf("hardPodAffinityWeight %d, want %d", got, weight)
		}
		checkRoundTrip(t, data)
	})
}

func FuzzDecodeNeverPanicsAndWhatItAcceptsIsTheSameConverted(f *testing.F) {
	for _, pattern := range []string{"testdata/valid/*.yaml", "testdata/invalid/*.yaml"} {
		for _, file := range glob(f, pattern) {
			f.Add(read(f, file))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, _, err := Decode(data); err != nil {
			if strings.Contains(err.Error(), "Internal error") {
				t.Errorf("the strict check let through what does not decode: %v", err)
			}
			return
		}
		checkRoundTrip(t, data)
	})
}

// checkRoundTrip checks that a document means the same when it is converted, and when what
// it means is written and read again.
func checkRoundTrip(t interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}, data []byte,
) {
	t.Helper()
	cfg, _, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	document, _, err := Convert(data)
	if err != nil {
		t.Fatal(err)
	}
	written, err := yaml.Marshal(v1alpha2.Of(cfg))
	if err != nil {
		t.Fatal(err)
	}
	for about, data := range map[string][]byte{"converted": document, "written": written} {
		again, err := v1alpha2.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cfg, again); diff != "" {
			t.Errorf("read (-) and %s (+) differ:\n%s", about, diff)
		}
	}
}

func sorted[V any](names map[string]V) []string {
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

func glob(t testing.TB, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files match %s (%v)", pattern, err)
	}
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-) and what came out (+) differ:\n%s", path, diff)
	}
}
