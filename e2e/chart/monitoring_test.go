package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// alert is a rule that was rendered.
type alert struct {
	Alert, Expr string
	Annotations map[string]string
}

// alerts are the rules that were rendered, and the file of them as Prometheus reads it.
func alerts(t *testing.T) (rules []alert, file []byte) {
	t.Helper()
	object := render(t, append(needed(), "--set=monitoring.prometheusRule.enabled=true")...)["PrometheusRule/"+release]
	if object == nil {
		t.Fatal("no PrometheusRule is rendered")
	}
	file, err := yaml.Marshal(object.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	var spec struct{ Groups []struct{ Rules []alert } }
	if err := yaml.Unmarshal(file, &spec); err != nil {
		t.Fatal(err)
	}
	return spec.Groups[0].Rules, file
}

func TestEachAlertFiresAndClears(t *testing.T) {
	t.Parallel()
	rules, file := alerts(t)
	tests := []byte(textOf(t, "testdata", "alerts.yaml"))
	promtool, dir := found(t, findPromtool), t.TempDir()
	for name, text := range map[string][]byte{"rules.yaml": file, "tests.yaml": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := said(t.Context(), promtool, "check", "rules", "--lint-fatal", filepath.Join(dir, "rules.yaml")); err != nil {
		t.Errorf("%v%s", err, out)
	}
	if _, err := said(t.Context(), promtool, "test", "rules", filepath.Join(dir, "tests.yaml")); err != nil {
		t.Error(err)
	}

	var tested struct{ Tests []struct{ Name string } }
	if err := yaml.Unmarshal(tests, &tested); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, rule := range rules {
		want = append(want, rule.Alert)
	}
	for _, test := range tested.Tests {
		got = append(got, test.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alerts (-) and tests of them (+):\n%s", diff)
	}
}

func TestEachAlertHasARunbook(t *testing.T) {
	t.Parallel()
	runbooks := textOf(t, repository, "docs", "runbooks.md")
	rules, _ := alerts(t)
	for _, rule := range rules {
		if !strings.Contains(runbooks, "\n## "+rule.Alert+"\n") {
			t.Errorf("docs/runbooks.md has nothing of %s", rule.Alert)
		}
		if want := "https://muster.dev/docs/runbooks#" + strings.ToLower(rule.Alert); rule.Annotations["runbook_url"] != want {
			t.Errorf("%s links to %s, want %s", rule.Alert, rule.Annotations["runbook_url"], want)
		}
	}
	if got := strings.Count(runbooks, "\n## "); got != len(rules) {
		t.Errorf("docs/runbooks.md is about %d alerts, and there are %d", got, len(rules))
	}
}

var metric = regexp.MustCompile(`\bmuster_[a-z0-9_]+`)

// asked are the metrics that the alerts and the dashboard ask for.
func asked(t *testing.T) []string {
	t.Helper()
	names := map[string]bool{}
	rules, _ := alerts(t)
	for _, rule := range rules {
		for _, name := range metric.FindAllString(rule.Expr, -1) {
			names[name] = true
		}
	}
	for _, expr := range dashboardQueries(t) {
		found := metric.FindAllString(expr, -1)
		if len(found) == 0 {
			t.Errorf("the dashboard's query %q asks for no metric of muster", expr)
		}
		for _, name := range found {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// dashboardQueries returns the queries of all panels of the rendered dashboard.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	object := render(t, append(needed(), "--set=monitoring.dashboard.enabled=true")...)["ConfigMap/"+release+"-dashboard"]
	if object == nil {
		t.Fatal("no dashboard is rendered")
	}
	text, _, err := unstructured.NestedString(object.Object, "data", "muster.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		if len(panel.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", panel.Title)
		}
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}

// served checks that what alerts and the dashboard ask for is in one of two pages of metrics.
func served(t *testing.T, pages ...string) {
	t.Helper()
	names := map[string]bool{}
	for _, page := range pages {
		text, err := get(page)
		if err != nil {
			t.Fatal(err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for name, family := range families {
			names[name] = true
			if len(family.GetMetric()) > 0 && family.GetMetric()[0].GetHistogram() != nil {
				for _, suffix := range []string{"_bucket", "_count", "_sum"} {
					names[name+suffix] = true
				}
			}
		}
	}
	for _, name := range asked(t) {
		if !names[name] {
			t.Errorf("nobody serves %s, which an alert or the dashboard asks for", name)
		}
	}
}
