package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config/v1alpha2"
)

func TestTheDefaultFileNamesEveryFieldWithItsDefault(t *testing.T) {
	want, err := yaml.Marshal(v1alpha2.Default())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields(t, want), fields(t, []byte(defaultConfig))); diff != "" {
		t.Errorf("the defaults (-) and default.yaml (+) differ:\n%s", diff)
	}
}

func TestTheDefaultFileListsTheDefaultPlugins(t *testing.T) {
	profile := &v1alpha2.Default().Profiles[0]
	profile.NodeSelection = v1alpha2.NodeSelectionExtender
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

func fields(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := yaml.UnmarshalStrict(document, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
