package chart

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	own "muster.dev/muster/charts/helm"
)

// sameKubernetes is the version that both fill the chart in for.
const sameKubernetes = "v1.37.1"

// unlabelled takes away what tells Helm's objects from muster's: who manages them.
func unlabelled(text string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		if field := strings.TrimSpace(line); !strings.HasPrefix(field, "helm.sh/chart:") && !strings.HasPrefix(field, "app.kubernetes.io/managed-by:") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// What muster makes of the chart is what Helm makes of it, for each way to install.
func TestMusterFillsTheChartInAsHelmDoes(t *testing.T) {
	t.Parallel()
	files := ways(t)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Neither files of the chart nor templates among the values are read in muster.
			const without = "monitoring: {prometheusRule: {enabled: false}, dashboard: {enabled: false}}\nextraObjects: []\n"
			values := map[string]any{}
			for _, text := range []string{textOf(t, files[name]), without} {
				if err := yaml.Unmarshal([]byte(text), &values); err != nil {
					t.Fatal(err)
				}
			}
			text, err := yaml.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}
			rendered, err := own.Render(own.Release{Name: release, Namespace: namespace, KubernetesVersion: sameKubernetes, Values: values})
			if err != nil {
				t.Fatal(err)
			}
			ours := parse(t, unlabelled(strings.Join(slices.Collect(maps.Values(rendered)), "\n---\n")))
			theirs := parse(t, unlabelled(helm(t, "template", release, chartDir, "--namespace", namespace, "--kube-version", sameKubernetes, "--skip-tests",
				"--values", file)))
			if diff := cmp.Diff(theirs, ours); diff != "" || len(ours) == 0 {
				t.Errorf("the objects differ (-Helm +muster):\n%s", diff)
			}
		})
	}
}
