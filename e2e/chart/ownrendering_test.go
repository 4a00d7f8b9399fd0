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
		field, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if field != "helm.sh/chart" && field != "app.kubernetes.io/managed-by" {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// muster and Helm make the same of the chart, for each way to install.
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
			theirs := parse(
				t,
				unlabelled(helm(t, "template", release, chartDir, "--namespace", namespace, "--kube-version", sameKubernetes, "--skip-tests",
					"--values", file)),
			)
			if diff := cmp.Diff(theirs, ours); diff != "" || len(ours) == 0 {
				t.Errorf("the objects differ (-Helm +muster):\n%s", diff)
			}
		})
	}
}

// 'muster install' prints what Helm makes of the chart for the values that it means, and the chart's definitions.
func TestWhatInstallPrintsIsOfTheChart(t *testing.T) {
	t.Parallel()
	hosted := []string{
		"--set=scheduler.mode=external", "--set=config.profiles[0].schedulerName=default-scheduler",
		"--set=rbac.user=system:kube-scheduler,rbac.schedulerLease=kube-system/kube-scheduler",
	}
	for _, file := range []string{"rbac", "rbac-people", "accountpolicy", "recordpolicy"} {
		hosted = append(hosted, "--show-only=templates/"+file+".yaml")
	}
	for way, values := range map[string][]string{"kubeadm": hosted, "k3s": hosted, "managed": nil} {
		name := "muster-host"
		if way == "managed" {
			name = release
		}
		printed, err := musterSaid(t, "install", "--"+way, "--image=example.com/muster:v1", "--kubernetes-version="+sameKubernetes)
		if err != nil {
			t.Fatal(err)
		}
		args := append([]string{
			"template", name, chartDir, "--namespace", namespace, "--kube-version", sameKubernetes, "--skip-tests",
			"--set=image.repository=example.com/muster,image.tag=v1",
		}, values...)
		theirs := parse(t, unlabelled(helm(t, args...)))
		definitions, err := filepath.Glob(filepath.Join(chartDir, "crds", "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range definitions {
			maps.Copy(theirs, parse(t, textOf(t, file)))
		}
		if diff := cmp.Diff(theirs, parse(t, unlabelled(printed))); diff != "" {
			t.Errorf("%s: the objects differ (-Helm +muster):\n%s", way, diff)
		}
	}
}
