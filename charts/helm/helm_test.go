package helm_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"muster.dev/muster/charts/helm"
)

func TestTheChartIsFilledIn(t *testing.T) {
	release := helm.Release{
		Name: "muster", Namespace: "kube-system", KubernetesVersion: "v1.36.3-eks-5d4a308",
		Values: map[string]any{"image": map[string]any{"repository": "example.com/muster", "tag": "v1"}},
	}
	files, err := helm.Render(release)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"example.com/muster:v1", "registry.k8s.io/kube-scheduler:v1.36.3", "kind: Deployment"} {
		if !strings.Contains(files["deployment.yaml"], want) {
			t.Errorf("deployment.yaml has no %q:\n%s", want, files["deployment.yaml"])
		}
	}
	for name, text := range files {
		for document := range strings.SplitSeq(text, "\n---\n") {
			var object map[string]any
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Errorf("%s: %v\n%s", name, err, document)
			}
		}
	}
	if files["service.yaml"] != "" {
		t.Errorf("service.yaml says something in mode sidecar:\n%s", files["service.yaml"])
	}
}

func TestWhatTheChartRefusesIsAnError(t *testing.T) {
	for want, values := range map[string]map[string]any{
		"image.repository is required": {},
		"has no fields":                {"scheduler": "sidecar"},
		"gates need Kubernetes 1.36": {
			"image":  map[string]any{"repository": "example.com/muster"},
			"config": map[string]any{"profiles": []any{map[string]any{"schedulerName": "muster", "gates": "UntilMembers"}}},
		},
	} {
		release := helm.Release{Name: "muster", Namespace: "kube-system", KubernetesVersion: "v1.35.0", Values: values}
		if _, err := helm.Render(release); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q", values, err, want)
		}
	}
}

// Functions answer as Helm's do.
func TestFunctions(t *testing.T) {
	list := []any{"a", "b", "", "a"}
	for name, test := range map[string]struct {
		function string
		args     []any
		want     any
	}{
		"a key":             {"dig", []any{"a", "b", "none", map[string]any{"a": map[string]any{"b": "c"}}}, "c"},
		"a key of nothing":  {"dig", []any{"a", "b", "none", map[string]any{"a": nil}}, "none"},
		"a number of YAML":  {"int", []any{3.0}, 3},
		"one of a list":     {"has", []any{"b", list}, true},
		"a later version":   {"semverCompare", []any{">=1.36.0-0", "v1.36.0+k3s1"}, true},
		"a release before":  {"semverCompare", []any{">=1.36.0-0", "v1.36.0-alpha.1"}, true},
		"an older version":  {"semverCompare", []any{">=1.36.0-0", "v1.35.9"}, false},
		"what is nothing":   {"default", []any{"x", ""}, "x"},
		"what is something": {"default", []any{"x", "y"}, "y"},
		"a short text":      {"trunc", []any{50, "muster"}, "muster"},
		"a list as text":    {"join", []any{", ", []any{"a", "b"}}, "a, b"},
		"lines":             {"nindent", []any{2, "a\nb"}, "\n  a\n  b"},
		"a part of a text":  {"regexFind", []any{"^v[0-9.]+", "v1.2.3+k3s1"}, "v1.2.3"},
	} {
		if got, err := helm.Functions()[test.function](test.args...); err != nil || got != test.want {
			t.Errorf("%s: %v, error %v, want %v", name, got, err, test.want)
		}
	}
	for name, args := range map[string][]any{
		"trim": {1}, "has": {"a"}, "dict": {"a"}, "dig": {"a", "b"}, "semverCompare": {">=a", "b"}, "regexFind": {"(", ""},
		"required": {"why", ""},
	} {
		if got, err := helm.Functions()[name](args...); err == nil {
			t.Errorf("%s of %v: %v and no error", name, args, got)
		}
	}
}
