package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
)

func TestTheDefaultFileNamesEveryFieldWithItsDefault(t *testing.T) {
	want, err := yaml.Marshal(v1alpha2.Of(config.Default()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields(t, want), fields(t, []byte(defaultConfig))); diff != "" {
		t.Errorf("the defaults (-) and default.yaml (+) differ:\n%s", diff)
	}
}

func TestTheDefaultFileListsTheDefaultPlugins(t *testing.T) {
	profile := &config.Default().Profiles[0]
	profile.NodeSelection = config.NodeSelectionMuster
	var scores []string
	for _, score := range profile.ScorePlugins() {
		scores = append(scores, fmt.Sprintf("%s %d", score.Name, score.Weight))
	}
	comments := strings.Join(strings.Fields(strings.ReplaceAll(defaultConfig, "#", " ")), " ")
	for _, want := range []string{
		"Default filters: " + strings.Join(profile.FilterPlugins(), ", ") + ".",
		"Default scores and their weights: " + strings.Join(scores, ", ") + ".",
	} {
		if !strings.Contains(comments, want) {
			t.Errorf("default.yaml does not say: %s", want)
		}
	}
}

func TestEveryMalformedFileEndsTheProcessWithALineForEachError(t *testing.T) {
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		dir := filepath.Join("../../api/config", version, "testdata/invalid")
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s (%v)", dir, err)
		}
		for _, file := range files {
			t.Run(version+"/"+filepath.Base(file), func(t *testing.T) {
				errs, err := os.ReadFile(strings.TrimSuffix(file, ".yaml") + ".errors")
				if err != nil {
					t.Fatal(err)
				}
				var want strings.Builder
				for line := range strings.Lines(string(errs)) {
					want.WriteString("muster: " + file + ": " + line)
				}
				var stdout, stderr bytes.Buffer
				if code := run(t.Context(), []string{"serve", "--config", file}, nil, &stdout, &stderr); code != exitFailure {
					t.Errorf("exit status %d, want %d", code, exitFailure)
				}
				if diff := cmp.Diff(want.String(), stderr.String()); diff != "" {
					t.Errorf("standard error (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func fields(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := yaml.UnmarshalStrict(document, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
