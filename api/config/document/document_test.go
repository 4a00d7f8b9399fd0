package document

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config"
)

func TestEveryVersionIsReadAsTheNewest(t *testing.T) {
	tests := []struct {
		name, document string
		warnings       []string
		err            string
	}{
		{name: "the newest", document: "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n"},
		{
			name:     "the one before",
			document: "apiVersion: config.muster.dev/v1alpha1\nkind: MusterConfiguration\n",
			warnings: []string{
				"muster.yaml: apiVersion config.muster.dev/v1alpha1 is deprecated: 'muster config convert' writes config.muster.dev/v1alpha2",
			},
		},
		{
			name: "the one before, with an error", document: "apiVersion: config.muster.dev/v1alpha1\nkind: MusterConfiguration\nschedulerName: A\n",
			err: `muster.yaml: schedulerName: Invalid value: "A": `,
		},
		{
			name: "the newest, with a warning",
			document: "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\nprofiles: [{plugins: {score: {disabled: [{name: " +
				"'*'}]}}}]\n",
			warnings: []string{
				`muster.yaml: profiles[0].plugins.score.disabled[0].name: "*" disables every default plugin, later versions' too, so that ` +
					`what the pods prefer in their specs may be ignored: better name the plugins`,
			},
		},
		{
			name:     "none that there is",
			document: "apiVersion: config.muster.dev/v1\nkind: MusterConfiguration\n",
			err:      `muster.yaml: found apiVersion "config.muster.dev/v1" and kind "MusterConfiguration", supported are`,
		},
		{name: "none at all", document: "[]", err: "muster.yaml: not a configuration: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, warnings, err := DecodeFrom("muster.yaml", []byte(test.document))
			if test.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.err) {
					t.Errorf("error %v, want one that begins with %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(config.Default(), c); diff != "" && len(test.warnings) == 0 {
				t.Errorf("default (-) and what was read (+) differ:\n%s", diff)
			}
			if diff := cmp.Diff(test.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "muster.yaml")
	if _, _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v about an absent file, want one that names it", err)
	}
	if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), path+": ") {
		t.Errorf("error %v about what is in the file, want one that begins with its name", err)
	}
}

func TestDocumentsOfKubeSchedulerAreConverted(t *testing.T) {
	const want = "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\nprofiles:\n"
	for name, test := range map[string]struct{ document, want string }{
		"its configuration": {
			"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: batch}]\n",
			want + "- schedulerName: batch\n",
		},
		"a policy without priorities, which had other weights": {
			`{"apiVersion": "v1", "kind": "Policy"}`,
			want + "- plugins:\n    score:\n      enabled:\n      - name: InterPodAffinity\n        weight: 1\n      - name: NodeAffinity\n" +
				"        weight: 1\n      - name: TaintToleration\n        weight: 1\n  schedulerName: default-scheduler\n",
		},
		"a policy without priorities, and with predicates": {
			`{"apiVersion": "v1", "kind": "Policy", "predicates": [], "priorities": null}`,
			want + "- plugins:\n    filter:\n      disabled:\n      - name: '*'\n      enabled:\n      - name: NodeUnschedulable\n" +
				"      - name: TaintToleration\n    score:\n      enabled:\n      - name: InterPodAffinity\n        weight: 1\n",
		},
		"a policy": {
			`{"apiVersion": "v1", "kind": "Policy", "predicates": [{"name": "PodFitsResources"}], "priorities": []}`,
			want + "- plugins:\n    filter:\n      disabled:\n      - name: '*'\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			document, _, err := Convert([]byte(test.document))
			if err != nil || !strings.HasPrefix(string(document), test.want) {
				t.Errorf("error %v, converted:\n%s", err, document)
			}
			if _, _, err := Decode(document); err != nil {
				t.Errorf("it is not valid: %v", err)
			}
		})
	}
	if _, _, err := Convert([]byte("apiVersion: kubescheduler.config.k8s.io/v1\nkind: MusterConfiguration\n")); err == nil ||
		!strings.Contains(err.Error(), `kind "KubeSchedulerConfiguration"`) {
		t.Errorf("an error in the kind of kube-scheduler's: %v", err)
	}
	if _, _, err := Convert([]byte(`{"apiVersion": "v1", "kind": "Policy", "predicates": [{"name": "NoSuch"}]}`)); err == nil ||
		!strings.Contains(err.Error(), "algorithmSource.policy.predicates[0].name") {
		t.Errorf("an error in a policy: %v", err)
	}
}
