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
	tests := []struct {
		name, says string
		args       string // "sets" of values, or flags, divided by spaces
	}{
		{"a misspelt value", "'repositry' not allowed", "image.repositry=example.com/muster"},
		{"a misspelt value at the top", "'rescheduller' not allowed", "rescheduller.enabled=true"},
		{"a misspelt field of the configuration", "'fliter' not allowed", "config.timeouts.fliter=1s"},
		{"a misspelt field of the rescheduler", "'perNodes' not allowed", "config.rescheduler.budgets.perNodes=1"},
		{"an address that the chart sets", "'listen' not allowed", "config.rescheduler.listen=:8889"},
		{"requests from elsewhere, without a right", "'authorize' not allowed", "config.rescheduler.separate.authorize=false"},
		{"a day that there is not", "/config/rescheduler/budgets/windows/0/days/0", "config.rescheduler.budgets.windows[0].days[0]=Sunday"},
		{"a misspelt value of the scheduler", "'tagg' not allowed", "scheduler.image.tagg=v1.36.3"},
		{"an unknown mode", "/scheduler/mode", "scheduler.mode=daemonset"},
		{"a duration without a unit", "/config/timeouts/bind", "config.timeouts.bind=30"},
		{"a flag without dashes", "/extraArgs/0", "extraArgs[0]=log-level=debug"},
		{"a variable without a name", "/extraEnv/0", "extraEnv[0].value=a"},
		{"more priority than users may give", "/priorityClass/value", "priorityClass.value=2000000000"},
		{"a misspelt value of monitoring", "'intervall' not allowed", "monitoring.podMonitor.intervall=10s"},
		{"a missing image", "image.repository is required", "image.repository="},
		{"a muster that waits for itself", "cannot place muster's own pod", "schedulerName=muster"},
		{
			"a second scheduler of default-scheduler's pods", "two kube-schedulers", "config.profiles[0].schedulerName=default-scheduler nodeName=a",
		},
		{
			"nobody placed ahead in mode ahead",
			"one profile at least needs nodeSelection Ahead",
			"scheduler.mode=ahead config.profiles[0].schedulerName=a",
		},
		{"managed pods whom nobody asks about", "with scheduler.mode ahead none does", "scheduler.mode=ahead managed=true"},
		{"outages of a muster that nobody asks", "with scheduler.mode ahead none does", "scheduler.mode=ahead ignorable=true"},
		{"client certificates in mode ahead", "muster listens on loopback", "scheduler.mode=ahead tls.clientAuth=true tls.secretName=a"},
		{"gates of mode ahead in an old Kubernetes", "set Webhook, and tls.selfManaged.enabled", "scheduler.mode=ahead --kube-version=1.35.4"},
		{"less than no time on a node that is lost", "/lostNodeSeconds", "lostNodeSeconds=-1"},
		{"client certificates where nobody can call", "muster listens on loopback", "tls.clientAuth=true tls.secretName=a"},
		{"client certificates without https", "needs tls.secretName", "tls.clientAuth=true scheduler.mode=external"},
		{"a misspelt value of the certificate", "'enable' not allowed", "tls.selfManaged.enable=true"},
		{"certificates of muster and of a secret", "exclude each other", "tls.selfManaged.enabled=true tls.secretName=a"},
		{
			"certificates of muster and of cert-manager", "exclude each other",
			"tls.selfManaged.enabled=true tls.certManager.enabled=true tls.certManager.issuerRef.name=a",
		},
		{"an authority that muster overwrites", "muster writes what has signed", "tls.selfManaged.enabled=true tls.caBundle=a"},
		{
			"client certificates of nobody", "an empty list lets nobody call",
			"tls.selfManaged.enabled=true tls.clientAuth=true tls.allowedClientNames=null scheduler.mode=external",
		},
		{"a certificate of the API server, which does not call", "webhook.clientCA is about who may ask for gates", "webhook.clientCA=a"},
		{
			"names of the API server, which shows no certificate", "webhook.allowedClientNames needs webhook.clientCA",
			"webhook.allowedClientNames[0]=a",
		},
		{"an address of the webhook, which the chart sets", "'webhookListen' not allowed", "config.serving.webhookListen=:1"},
		{"an action that there is not", "/accountPolicy/actions/0", "accountPolicy.actions[0]=Refuse"},
		{"actions that exclude each other", "/accountPolicy/actions", "accountPolicy.actions[0]=Deny accountPolicy.actions[1]=Warn"},
		{
			"a webhook that nobody reaches", "networkPolicy.apiServers is required",
			"networkPolicy.enabled=true tls.secretName=a config.gangs.gates=UntilMembers config.gangs.gatedBy=Webhook",
		},
		{
			"an authority of callers whom nobody asks", "tls.clientCA needs tls.clientAuth",
			"tls.clientCA=a tls.secretName=b scheduler.mode=external",
		},
		{"two certificates", "exclude each other", "tls.certManager.enabled=true tls.certManager.issuerRef.name=a tls.secretName=b"},
		{"a certificate of nobody", "issuerRef.name is required", "tls.certManager.enabled=true"},
		{"metrics that are scraped twice", "exclude each other", "monitoring.podMonitor.enabled=true monitoring.serviceMonitor.enabled=true"},
		{"a network policy that shuts everybody out", "networkPolicy.callers is required", "networkPolicy.enabled=true scheduler.mode=external"},
		{"gates by a webhook without https", "needs tls.secretName", "config.gangs.gates=UntilMembers config.gangs.gatedBy=Webhook"},
		{"gates by a policy in an old Kubernetes", "needs Kubernetes 1.36", "config.gangs.gates=UntilMembers --kube-version=1.35.4"},
		{"managed pods in an old Kubernetes", "needs Kubernetes 1.36", "managed=true --kube-version=1.35.4"},
		{"names of schedulers in an old Kubernetes", "needs Kubernetes 1.36", "schedulerPolicy=true --kube-version=1.35.4"},
		{
			"names of schedulers where there is only the default one", "none of config.profiles has a schedulerName of its own",
			"schedulerPolicy=true scheduler.mode=ahead",
		},
		{"an old Kubernetes", "incompatible with Kubernetes", "--kube-version=1.29.9"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"template", release, chartDir}, needed()...)
			for arg := range strings.FieldsSeq(test.args) {
				if !strings.HasPrefix(arg, "--") {
					arg = "--set=" + arg
				}
				args = append(args, arg)
			}
			if out, err := said(t.Context(), helmProgram(t), args...); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error %v, want that it says %q; rendered:\n%s", err, test.says, out)
			}
		})
	}
}

// setByTheChart are the fields of the configuration that values cannot set.
func setByTheChart() []string {
	return []string{
		"config.apiVersion",
		"config.kind",
		"config.leaderElection",
		"config.logging",
		"config.serving.listen",
		"config.serving.healthListen",
		"config.serving.webhookListen",
		"config.serving.tls",
		"config.clientConnection.kubeconfig",
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
		"a sidecar": {[]string{"--values=" + way("sidecar")}, []string{"account-policy --with-scheduler"}},
		"a sidecar with a rescheduler": {
			[]string{"--values=" + way("sidecar"), "--set=rescheduler.enabled=true"},
			[]string{"account-policy --with-scheduler --user=" + account + " --rescheduler-user=" + account},
		},
		"external":        {[]string{"--values=" + way("external")}, []string{"account-policy"}},
		"ahead":           {[]string{"--values=" + way("ahead")}, []string{"account-policy", "gate-policy"}},
		"ahead with pins": {[]string{"--values=" + way("ahead-webhook")}, []string{"account-policy --with-pins"}},
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
