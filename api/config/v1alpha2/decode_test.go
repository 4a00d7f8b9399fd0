package v1alpha2

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/api/config"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

func TestFilesThatAreWrongAreRefusedWithEveryErrorAndItsPlace(t *testing.T) {
	for _, file := range glob(t, "testdata/invalid/*.yaml") {
		t.Run(caseName(file), func(t *testing.T) {
			cfg, err := Decode(read(t, file))
			if err == nil {
				t.Fatalf("loaded %+v, want an error", cfg)
			}
			all, ok := errors.AsType[utilerrors.Aggregate](err)
			if !ok {
				t.Fatalf("error %v is not an Aggregate", err)
			}
			var lines []string
			for _, e := range all.Errors() {
				lines = append(lines, e.Error())
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".errors", strings.Join(lines, "\n")+"\n")
		})
	}
}

func TestFilesThatAreRightAreDefaulted(t *testing.T) {
	for _, file := range glob(t, "testdata/valid/*.yaml") {
		t.Run(caseName(file), func(t *testing.T) {
			cfg, err := Decode(read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".defaulted", string(marshal(t, cfg)))
			checkRoundTrip(t, cfg)
		})
	}
}

func TestDefaultIsWhatADocumentWithoutFieldsMeans(t *testing.T) {
	decoded, err := Decode([]byte("apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(config.Default(), decoded); diff != "" {
		t.Errorf("default (-) and decoded (+) differ:\n%s", diff)
	}
}

func TestArgsOfADecodedProfileAreItsOwn(t *testing.T) {
	cfg, err := Decode(read(t, "testdata/valid/everything.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	packing := &cfg.Profiles[1]
	want := &config.NodeResourcesFitArgs{
		IgnoredResources:      []string{"example.com/foo"},
		IgnoredResourceGroups: []string{"example.org"},
		ScoringStrategy: config.ScoringStrategy{
			Type:      config.MostAllocated,
			Resources: []config.ResourceSpec{{Name: "nvidia.com/gpu", Weight: 5}, {Name: "cpu", Weight: 1}},
		},
	}
	if diff := cmp.Diff(want, packing.NodeResourcesFitArgs()); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
	if packing.NodeAffinityArgs().AddedAffinity == nil {
		t.Error("the added affinity of the profile is lost")
	}
}

func FuzzDecodeNeverPanicsAndWhatItAcceptsIsValidAndStable(f *testing.F) {
	for _, pattern := range []string{"testdata/valid/*.yaml", "testdata/invalid/*.yaml"} {
		for _, file := range glob(f, pattern) {
			f.Add(read(f, file))
		}
	}
	for _, text := range boundedtest.Texts() {
		f.Add([]byte("apiVersion: " + APIVersion + "\nkind: " + Kind + "\n" + text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var cfg *config.Configuration
		var err error
		boundedtest.Ends(func() { cfg, err = Decode(data) })
		if err != nil {
			if strings.Contains(err.Error(), "Internal error") {
				t.Errorf("the strict check let through what does not decode: %v", err)
			}
			return
		}
		if errs := cfg.Validate(); len(errs) > 0 {
			t.Errorf("decoded, but invalid: %v", errs.ToAggregate())
		}
		checkRoundTrip(t, cfg)
	})
}

func checkRoundTrip(t *testing.T, cfg *config.Configuration) {
	t.Helper()
	again, err := Decode(marshal(t, cfg))
	if err != nil {
		t.Fatalf("decode what was marshalled: %v", err)
	}
	if diff := cmp.Diff(cfg, again); diff != "" {
		t.Errorf("before (-) and after (+) a round trip:\n%s", diff)
	}
}

func marshal(t *testing.T, cfg *config.Configuration) []byte {
	t.Helper()
	data, err := yaml.Marshal(Of(cfg))
	if err != nil {
		t.Fatal(err)
	}
	return data
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

func caseName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), ".yaml")
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
