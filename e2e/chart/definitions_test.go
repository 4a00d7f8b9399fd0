package chart

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/lab"
)

// definitionsChart has the CustomResourceDefinitions as objects of a release.
const definitionsChart = repository + "/charts/muster-crds"

func TestTheChartOfDefinitionsTakesThemOverUpgradesThemAndLeavesThem(t *testing.T) {
	lab.Long(t)
	c := newCluster(t)
	c.helm("install", release, previous, "--set=image.repository=example.com/muster,service.clusterIP=10.0.0.88")
	c.createCustomResources()
	before, old := c.customResources(), c.definitions()

	c.helm("install", "definitions", definitionsChart, "--take-ownership")
	if diff := cmp.Diff(old, c.definitions()); diff == "" {
		t.Error("the definitions of the previous version are as they were")
	}
	helm(t, "lint", "--strict", definitionsChart)
	c.helm("upgrade", "definitions", definitionsChart, `--set=definitions.podgroups\.scheduling\.x-k8s\.io=false`)
	c.helm("uninstall", "definitions")
	if diff := cmp.Diff(before, c.customResources()); diff != "" {
		t.Errorf("custom resources before (-) and after the definitions were a release's (+):\n%s", diff)
	}
}

func TestBothChartsHaveOneVersion(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"version", "appVersion", "kubeVersion"} {
		if muster, definitions := chartField(t, chartDir, line), chartField(t, definitionsChart, line); muster != definitions {
			t.Errorf("%s: %s of muster, %s of its definitions", line, muster, definitions)
		}
	}
}

func chartField(t *testing.T, dir, name string) string {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(textOf(t, dir, "Chart.yaml")), &fields); err != nil {
		t.Fatal(err)
	}
	value, is := fields[name].(string)
	if !is {
		t.Fatalf("%s has no %s", dir, name)
	}
	return value
}
