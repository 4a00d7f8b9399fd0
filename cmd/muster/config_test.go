package main

import (
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

func fields(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := yaml.UnmarshalStrict(document, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}
