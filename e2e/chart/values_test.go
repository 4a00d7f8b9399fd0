package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestEachWayToInstallIsLintedAndRendersAConfigurationThatMusterAccepts(t *testing.T) {
	t.Parallel()
	for name, values := range ways(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			helm(t, "lint", "--strict", chartDir, "--values", values)
			config := configOf(t, render(t, "--values", values))
			if _, err := musterSaid(t, "config", "validate", config); err != nil {
				t.Error(err)
			}
		})
	}
}

// needed are values without which nothing renders.
func needed() []string { return []string{"--set", "image.repository=example.com/muster"} }

func TestValuesThatAreWrongAreRejectedAndNamed(t *testing.T) {
	t.Parallel()
	var tests []struct{ Name, Says, Args string }
	if err := yaml.UnmarshalStrict([]byte(textOf(t, "testdata", "wrong-values.yaml")), &tests); err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"template", release, chartDir}, needed()...)
			for arg := range strings.FieldsSeq(test.Args) {
				if !strings.HasPrefix(arg, "--") {
					arg = "--set=" + arg
				}
				args = append(args, arg)
			}
			if out, err := said(t.Context(), helmProgram(t), args...); err == nil || !strings.Contains(err.Error(), test.Says) {
				t.Errorf("error %v, want that it says %q; rendered:\n%s", err, test.Says, out)
			}
		})
	}
}

// setByTheChart are the fields of the configuration that values cannot set.
func setByTheChart() []string {
	return []string{
		"config.apiVersion", "config.kind", "config.leaderElection", "config.logging", "config.serving", "config.clientConnection.kubeconfig",
		"config.rescheduler.listen",
	}
}

func TestValuesCanSetEveryFieldOfTheConfiguration(t *testing.T) {
	t.Parallel()
	text, err := musterSaid(t, "config", "default")
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		t.Fatal(err)
	}
	for _, field := range setByTheChart() {
		unstructured.RemoveNestedField(config, strings.Split(field, ".")[1:]...)
	}
	config["profiles"].([]any)[0].(map[string]any)["schedulerName"] = "muster"
	values, err := yaml.Marshal(map[string]any{"config": config})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, values, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := musterSaid(t, "config", "validate", configOf(t, render(t, append(needed(), "--values", path)...))); err != nil {
		t.Error(err)
	}
}

func TestThePoliciesAreThoseThatMusterPrints(t *testing.T) {
	t.Parallel()
	const account, rescheduler = "system:serviceaccount:kube-system:muster", "system:serviceaccount:kube-system:muster-rescheduler"
	for name, test := range map[string]struct {
		values   []string
		commands []string
	}{
		"gates": {
			[]string{"--values=" + way("gates"), "--set=schedulerPolicy=true"},
			[]string{"gate-policy", "managed-policy", "scheduler-policy --managed"},
		},
		"a default for kinds": {
			[]string{"--values=" + way("gates"), "--set=config.profiles[1].defaultFor={JobSet,Volcano}", "--set=managed=false"},
			[]string{"gate-policy", "scheduler-policy"},
		},
		"a sidecar": {[]string{"--values=" + way("sidecar")}, []string{"account-policy --with-scheduler"}},
		"a sidecar with a rescheduler": {
			[]string{"--values=" + way("sidecar"), "--set=rescheduler.enabled=true"},
			[]string{"account-policy --with-scheduler --user=" + account + " --rescheduler-user=" + account},
		},
		"external": {[]string{"--values=" + way("external")}, []string{"account-policy"}},
		"ahead":    {[]string{"--values=" + way("ahead")}, []string{"account-policy", "gate-policy"}},
		"gates by webhook": {
			[]string{"--values=" + way("self-managed"), "--set=schedulerPolicy=true"}, []string{"account-policy", "scheduler-policy"},
		},
		"external with a rescheduler": {
			[]string{"--values=" + way("external"), "--set=rescheduler.enabled=true"}, []string{"account-policy --rescheduler-user=" + rescheduler},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rendered := render(t, test.values...)
			policies := map[string]bool{}
			for name := range rendered {
				if strings.HasPrefix(name, "ValidatingAdmissionPolicy") {
					policies[name] = true
				}
			}
			for _, command := range test.commands {
				args := strings.Fields(command)
				if args[0] != "account-policy" {
					args = append(args, "--config="+configOf(t, rendered))
				}
				text, err := musterSaid(t, args...)
				if err != nil {
					t.Fatal(err)
				}
				printed := parse(t, text)
				if len(printed) == 0 {
					t.Errorf("%s prints nothing", command)
				}
				for name, want := range printed {
					got := rendered[name]
					if got == nil {
						t.Errorf("%s of %s is not rendered", name, command)
						continue
					}
					delete(policies, name)
					got.SetLabels(nil)
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("what %s prints (-) and what is rendered (+) differ in %s:\n%s", command, name, diff)
					}
				}
			}
			if strings.HasPrefix(test.commands[0], "account-policy") && len(policies) > 0 {
				t.Errorf("%v are rendered, and not printed", policies)
			}
		})
	}
}
