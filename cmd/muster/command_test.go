package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

func TestCommands(t *testing.T) {
	tests := []struct {
		golden string
		args   string
		stdin  string
	}{
		{golden: "no-command", args: ""},
		{golden: "unknown-command", args: "serv"},
		{golden: "unknown-flag", args: "serve --port 80"},
		{golden: "unexpected-argument", args: "serve muster.yaml"},

		{golden: "config-unknown-command", args: "config show"},
		{golden: "config-default", args: "config default"},
		{golden: "config-validate-no-file", args: "config validate"},
		{golden: "config-validate", args: "config validate testdata/tls.yaml testdata/bad.yaml testdata/absent.yaml"},
		{
			golden: "config-validate-stdin",
			args:   "config validate -",
			stdin:  "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n",
		},
		{
			golden: "config-validate-stdin-bad",
			args:   "config validate -",
			stdin:  "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\nserving: {port: 1, tls: 2}\n",
		},
		{golden: "config-validate-warnings", args: "config validate testdata/all-disabled.yaml testdata/old.yaml"},
		{golden: "config-convert", args: "config convert -f testdata/old.yaml"},
		{golden: "config-convert-of-today", args: "config convert -f testdata/offload.yaml"},
		{golden: "config-convert-no-file", args: "config convert"},
		{golden: "config-convert-coscheduling", args: "config convert -f testdata/coscheduling.yaml"},
		{
			golden: "config-convert-no-version",
			args:   "config convert -f -",
			stdin:  "apiVersion: kubescheduler.config.k8s.io/v1beta4\nkind: KubeSchedulerConfiguration\n",
		},
		{
			golden: "config-convert-bad",
			args:   "config convert -f -",
			stdin:  "apiVersion: config.muster.dev/v1alpha1\nkind: MusterConfiguration\nalgorithmSource: {provider: mine}\n",
		},
		{golden: "config-convert-absent", args: "config convert -f testdata/absent.yaml"},
		{golden: "config-convert-to-an-absent-directory", args: "config convert -f testdata/old.yaml -o testdata/absent/new.yaml"},

		{
			golden: "serve-bad-deprecated-flags",
			args:   "serve --log-level error --scheduler-name A_B --algorithm-provider mine --hard-pod-affinity-symmetric-weight 101",
		},
		{golden: "serve-bad-config", args: "serve --config testdata/bad.yaml"},
		{golden: "serve-absent-config", args: "serve --config testdata/absent.yaml"},
		{golden: "serve-bad-listen", args: "serve --listen localhost"},
		{golden: "serve-bad-log-level", args: "serve --log-level loud"},
		{golden: "serve-bad-log-format", args: "serve --log-format xml"},
		{golden: "serve-outside-of-a-cluster", args: "serve"},
		{golden: "serve-absent-kubeconfig", args: "serve --kubeconfig testdata/absent.kubeconfig"},
		{golden: "serve-snapshot-and-kubeconfig", args: "serve --snapshot dump.yaml --kubeconfig admin.kubeconfig"},
		{golden: "serve-absent-snapshot", args: "serve --listen 127.0.0.1:0 --snapshot testdata/absent.yaml"},

		{golden: "plan", args: "plan -f testdata/fragmented.yaml"},
		{golden: "plan-json", args: "plan -f testdata/fragmented.yaml -o json"},
		{golden: "plan-coalesce", args: "plan -f testdata/fragmented.yaml --policy Coalesce"},
		{golden: "plan-coalesce-yaml", args: "plan -f testdata/fragmented.yaml --policy Coalesce -o yaml"},
		{
			golden: "plan-free-domains",
			args:   "plan -f testdata/racks.yaml --policy FreeDomains --domain-key topology.kubernetes.io/rack --domain-nodes 2",
		},
		{
			golden: "plan-free-domains-none",
			args:   "plan -f testdata/racks.yaml --policy FreeDomains --config testdata/racks-config.yaml --max-evictions 3",
		},
		{golden: "plan-free-domains-no-key", args: "plan -f testdata/racks.yaml --policy FreeDomains"},
		{golden: "plan-none", args: "plan -f testdata/fragmented.yaml --selector app=other"},
		{golden: "plan-nothing-to-do", args: "plan -f testdata/fragmented.yaml --policy Coalesce --namespaces lab"},
		{golden: "plan-separate", args: "plan -f testdata/misplaced.yaml --policy Separate"},
		{golden: "plan-repair", args: "plan -f testdata/misplaced.yaml --policy Repair"},
		{golden: "plan-stays", args: "plan -f testdata/misplaced.yaml --policy Repair --namespaces shop"},
		{golden: "plan-bad-policy", args: "plan -f testdata/fragmented.yaml --policy Defragment"},
		{golden: "plan-bad-output", args: "plan -f testdata/fragmented.yaml -o wide"},
		{golden: "plan-bad-selector", args: "plan -f testdata/fragmented.yaml --selector a=b=c"},
		{golden: "plan-bad-bound", args: "plan -f testdata/fragmented.yaml --max-evictions -1"},
		{golden: "plan-bad-hops", args: "plan -f testdata/fragmented.yaml --hops 0"},
		{golden: "plan-bad-age", args: "plan -f testdata/fragmented.yaml --min-age=-5m"},
		{golden: "plan-unknown-flag", args: "plan --now"},
		{golden: "plan-unexpected-argument", args: "plan dump.yaml"},
		{golden: "plan-file-and-kubeconfig", args: "plan -f dump.yaml --kubeconfig admin.kubeconfig"},
		{golden: "plan-absent-file", args: "plan -f testdata/absent.yaml"},

		{golden: "scheduler-config", args: "scheduler-config"},
		{
			golden: "scheduler-config-flags",
			args: "scheduler-config --url http://muster.kube-system:80/v1/ --kubeconfig /etc/kubernetes/scheduler.conf --leader-elect " +
				"--percentage-of-nodes-to-score 100",
		},
		{golden: "scheduler-config-https", args: "scheduler-config --url https://muster.kube-system.svc:8888 --ca-file /etc/muster/ca.crt"},
		{
			golden: "scheduler-config-of-a-file",
			args: "scheduler-config --config testdata/tls.yaml --ca-file /etc/muster/ca.crt --cert-file /etc/muster/tls.crt --key-file " +
				"/etc/muster/tls.key",
		},
		{golden: "scheduler-config-bad-config", args: "scheduler-config --config testdata/bad.yaml"},
		{golden: "scheduler-config-no-scheme", args: "scheduler-config --url 127.0.0.1:8888"},
		{golden: "scheduler-config-other-scheme", args: "scheduler-config --url ftp://127.0.0.1:8888"},
		{golden: "scheduler-config-bad-port", args: "scheduler-config --url http://127.0.0.1:http"},
		{golden: "scheduler-config-no-host", args: "scheduler-config --url http://:8888"},
		{golden: "scheduler-config-query", args: "scheduler-config --url http://127.0.0.1:8888?verb="},
		{golden: "scheduler-config-https-without-ca", args: "scheduler-config --url https://127.0.0.1:8888"},
		{golden: "scheduler-config-ca-without-https", args: "scheduler-config --ca-file /etc/muster/ca.crt"},
		{golden: "scheduler-config-http-to-a-tls-server", args: "scheduler-config --config testdata/tls.yaml --url http://127.0.0.1:8888"},
		{golden: "scheduler-config-without-client-certificate", args: "scheduler-config --config testdata/tls.yaml --ca-file /etc/muster/ca.crt"},
		{
			golden: "scheduler-config-certificate-without-key",
			args:   "scheduler-config --url https://127.0.0.1:8888 --ca-file /etc/muster/ca.crt --cert-file /etc/muster/tls.crt",
		},
		{golden: "scheduler-config-free-port", args: "scheduler-config --config testdata/free-port.yaml"},
		{golden: "scheduler-config-offload", args: "scheduler-config --offload"},
		{golden: "scheduler-config-no-preemption", args: "scheduler-config --offload --no-preemption"},
		{golden: "scheduler-config-no-preemption-without-offload", args: "scheduler-config --no-preemption"},
		{
			golden: "scheduler-config-offload-of-a-profile",
			args:   "scheduler-config --config testdata/offload.yaml --percentage-of-nodes-to-score 50",
		},
		{golden: "scheduler-config-offload-without-a-filter", args: "scheduler-config --config testdata/offload.yaml --offload"},
		{golden: "scheduler-config-managed", args: "scheduler-config --managed"},
		{golden: "scheduler-config-managed-and-ignorable", args: "scheduler-config --managed --ignorable"},
		{golden: "scheduler-config-managed-with-offload", args: "scheduler-config --managed --config testdata/offload.yaml"},
		{golden: "scheduler-config-ignorable-with-offload", args: "scheduler-config --ignorable --offload"},
		{
			golden: "scheduler-config-of-several-profiles",
			args:   "scheduler-config --config ../../docs/examples/profiles.yaml --percentage-of-nodes-to-score 100",
		},
		{golden: "config-validate-examples", args: "config validate ../../docs/examples/profiles.yaml"},
		{
			golden: "scheduler-config-deprecated-flags",
			args:   "scheduler-config --scheduler-name batch --algorithm-provider ClusterAutoscalerProvider --hard-pod-affinity-symmetric-weight 7",
		},
		{golden: "scheduler-config-bad-deprecated-flags", args: "scheduler-config --scheduler-name A_B"},
		{
			golden: "scheduler-config-ignored-deprecated-flags",
			args:   "scheduler-config --config ../../docs/examples/profiles.yaml --scheduler-name batch",
		},
		{golden: "scheduler-config-bad-percentage", args: "scheduler-config --percentage-of-nodes-to-score 101"},
		{golden: "scheduler-config-own-percentage", args: "scheduler-config --percentage-of-nodes-to-score -1"},
		{golden: "scheduler-config-samples", args: "scheduler-config --config ../../docs/examples/profiles.yaml"},
		{golden: "account-policy", args: "account-policy"},
		{
			golden: "account-policy-of-one-user",
			args:   "account-policy --name m --user system:kube-scheduler --rescheduler-user system:kube-scheduler --with-scheduler",
		},
		{golden: "account-policy-of-two-users", args: "account-policy --rescheduler-user system:serviceaccount:kube-system:muster-rescheduler"},
		{golden: "account-policy-of-nobody", args: "account-policy --user="},
		{golden: "gate-policy", args: "gate-policy"},
		{golden: "gate-policy-of-several-profiles", args: "gate-policy --config testdata/gates.yaml"},
		{golden: "gate-policy-ahead", args: "gate-policy --config testdata/ahead.yaml"},
		{golden: "gate-policy-bad-config", args: "gate-policy --config testdata/bad.yaml"},
		{golden: "try", args: "try -f testdata/pod.yaml --snapshot testdata/fragmented.yaml"},
		{golden: "try-of-a-deployment", args: "try -f testdata/deployment.yaml --snapshot testdata/fragmented.yaml"},
		{golden: "try-json", args: "try -f testdata/deployment.yaml --snapshot testdata/fragmented.yaml -o json"},
		{golden: "try-help", args: "try --help"},
		{golden: "simulate", args: "simulate --trace testdata/jobs.csv --nodes 4:cpu=4,memory=16Gi --for 30m --against testdata/reserve.yaml"},
		{golden: "simulate-sacct-json", args: "simulate --trace testdata/jobs.sacct --nodes testdata/fragmented.yaml -o json"},
		{golden: "simulate-help", args: "simulate --help"},
		{golden: "explain-help", args: "explain pod --help"},
		{golden: "explain-no-pod", args: "explain pod"},
		{golden: "explain-bad-pod", args: "explain pod default/"},
		{golden: "explain-two-namespaces", args: "explain pod default/p -n other"},
		{golden: "explain-bad-output", args: "explain pod p -o wide"},
		{golden: "explain-bad-server", args: "explain pod p --server 127.0.0.1:8888"},
		{golden: "explain-absent-authority", args: "explain pod p --server https://127.0.0.1:1 --certificate-authority testdata/absent.crt"},
		{golden: "explain-certificate-without-key", args: "explain pod p --server https://127.0.0.1:1 --client-certificate testdata/absent.crt"},
		{golden: "explain-no-cluster", args: "explain pod p"},
		{golden: "explain-nothing-listens", args: "explain pod p --server http://127.0.0.1:1"},
		{golden: "explain-manifest-of-a-deployment", args: "explain -f testdata/deployment.yaml --snapshot testdata/fragmented.yaml"},
		{golden: "explain-manifest-of-a-jobset", args: "explain -f testdata/jobset.yaml --snapshot testdata/fragmented.yaml"},
		{golden: "explain-manifest-of-a-jobset-json", args: "explain -f testdata/jobset.yaml -o json --snapshot testdata/fragmented.yaml"},
		{golden: "explain-manifest-unknown-field", args: "explain -f testdata/unknown-field.yaml --snapshot testdata/fragmented.yaml"},
		{golden: "explain-workload", args: "explain job/sweep -n lab --snapshot testdata/owned.yaml"},
		{golden: "why-workload", args: "why jobset/training -n lab --snapshot testdata/owned.yaml"},
		{golden: "why-deployment", args: "why deployment/web -n lab --snapshot testdata/owned.yaml"},
		{golden: "why-workload-misspelled", args: "why job/sweeep -n lab --snapshot testdata/owned.yaml"},
		{golden: "why-workload-that-waits-not", args: "why job/other -n lab --snapshot testdata/owned.yaml"},
		{golden: "why-manifest", args: "why -f testdata/jobset.yaml --snapshot testdata/fragmented.yaml"},
		{golden: "explain-manifest", args: "explain pod -f testdata/pod.yaml --snapshot testdata/fragmented.yaml"},
		{golden: "explain-manifest-json", args: "explain pod -f testdata/pod.yaml --snapshot testdata/fragmented.yaml -o json"},
		{golden: "explain-manifest-bad", args: "explain pod -f testdata/bad.yaml --snapshot testdata/fragmented.yaml"},
		{golden: "explain-manifest-absent", args: "explain pod -f testdata/absent.yaml --snapshot testdata/fragmented.yaml"},
		{golden: "explain-manifest-and-pod", args: "explain pod default/p -f testdata/pod.yaml"},
		{golden: "explain-manifest-and-namespace", args: "explain pod -n default -f testdata/pod.yaml"},
		{golden: "explain-snapshot-absent", args: "explain pod default/p --snapshot testdata/absent.yaml"},
		{golden: "explain-snapshot-bad", args: "explain pod default/p --snapshot testdata/bad.yaml"},
		{golden: "explain-snapshot-without-the-pod", args: "explain pod default/p --snapshot testdata/fragmented.yaml"},
		{golden: "explain-snapshot-bad-config", args: "explain pod default/p --snapshot testdata/fragmented.yaml --config testdata/bad.yaml"},
		{golden: "explain-snapshot-and-server", args: "explain pod default/p --snapshot testdata/fragmented.yaml --server http://127.0.0.1:1"},
		{golden: "explain-config-without-snapshot", args: "explain pod default/p --config testdata/ahead.yaml"},
		{golden: "status-snapshot-bad", args: "status --snapshot testdata/bad.yaml"},
		{golden: "report", args: "report --snapshot testdata/fragmented.yaml -o -"},
		{golden: "report-help", args: "report --help"},
		{golden: "report-no-cluster", args: "report"},
		{golden: "report-absent-dump", args: "report --snapshot testdata/absent.yaml"},
		{golden: "report-bad-dump", args: "report --snapshot testdata/bad.yaml"},
		{golden: "report-bad-config", args: "report --snapshot testdata/fragmented.yaml --config testdata/bad.yaml"},
		{golden: "report-absent-config", args: "report --snapshot testdata/fragmented.yaml --config testdata/absent.yaml"},
		{golden: "report-bad-time", args: "report --snapshot testdata/fragmented.yaml --time -1s"},
		{golden: "report-no-output", args: "report --snapshot testdata/fragmented.yaml --output="},
		{golden: "report-absent-directory", args: "report --snapshot testdata/fragmented.yaml -o testdata/absent/report.html"},
		{golden: "report-argument", args: "report dump.yaml"},
		{golden: "report-unknown-flag", args: "report --snapshots testdata/fragmented.yaml"},
		{golden: "status-help", args: "status --help"},
		{golden: "status-bad-rescheduler", args: "status --rescheduler 127.0.0.1:8889"},
		{golden: "status-no-cluster", args: "status"},
		{golden: "status-nothing-listens", args: "status --server http://127.0.0.1:1 --rescheduler http://127.0.0.1:1"},

		{golden: "preflight-bad-output", args: "preflight -o wide"},
		{golden: "release-no-cluster", args: "release"},
		{golden: "preflight-no-cluster", args: "preflight"},
		{golden: "plan-no-cluster", args: "plan"},
		{golden: "release-without-a-lease", args: "release --when-away 2m"},
		{golden: "release-before-now", args: "release --when-away -2m"},
		{golden: "managed-policy", args: "managed-policy"},
		{golden: "managed-policy-bad-config", args: "managed-policy --config testdata/bad.yaml"},
		{golden: "scheduler-policy", args: "scheduler-policy --config testdata/gates.yaml"},
		{golden: "scheduler-policy-managed", args: "scheduler-policy --config testdata/gates.yaml --managed"},
		{golden: "scheduler-policy-by-kind", args: "scheduler-policy --config testdata/default-for.yaml"},
		{golden: "scheduler-policy-of-the-default-one", args: "scheduler-policy"},
	}
	for _, test := range tests {
		t.Run(test.golden, func(t *testing.T) {
			t.Setenv("KUBERNETES_SERVICE_HOST", "") // so that a test in a pod is outside of a cluster, too
			t.Setenv("KUBECONFIG", "testdata/absent.kubeconfig")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // none of these keeps running
			defer cancel()
			var stdout, stderr bytes.Buffer
			code := run(ctx, strings.Fields(test.args), strings.NewReader(test.stdin), &stdout, &stderr)
			transcript := fmt.Sprintf("$ muster %s\n%s--- standard error\n%s--- exit status %d\n", test.args, &stdout, &stderr, code)
			compareGolden(t, filepath.Join("testdata", test.golden+".golden"), transcript)
		})
	}
}

func TestConvertWritesAFileThatMeansTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "muster.yaml")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"config", "convert", "-f", "testdata/old.yaml", "-o", path}, nil, &stdout, &stderr); code != exitOK {
		t.Fatalf("exit status %d: %s", code, &stderr)
	}
	before, _, err := loadConfig("testdata/old.yaml")
	if err != nil {
		t.Fatal(err)
	}
	after, warnings, err := loadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("before (-) and after (+) differ:\n%s", diff)
	}
	for _, warning := range warnings {
		if strings.Contains(warning, "deprecated") {
			t.Errorf("what was written is deprecated: %s", warning)
		}
	}
}

func TestSchedulerConfigIsWrittenToAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scheduler.yaml")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"scheduler-config", "--output", path}, nil, &stdout, &stderr); code != exitOK || stdout.Len() > 0 {
		t.Fatalf("exit status %d, standard output %q: %s", code, &stdout, &stderr)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	run(t.Context(), []string{"scheduler-config"}, nil, &stdout, &stderr)
	if diff := cmp.Diff(stdout.String(), string(got)); diff != "" {
		t.Errorf("what is printed (-) and what is written (+) differ:\n%s", diff)
	}
}

func TestEveryCommandTeaches(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" || !strings.Contains(cmd.Example, cmd.CommandPath()) {
			t.Errorf("%s: needs a short and a long description and an example of itself", cmd.CommandPath())
		}
		if !cmd.HasSubCommands() && strings.Count(cmd.Long, "exit status") != 1 {
			t.Errorf("%s: its help says not once what its exit status tells", cmd.CommandPath())
		}
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(newRootCommand())
}

func TestHelpGoesToStandardOutput(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"config", "validate", "-h"}} {
		var stdout, stderr bytes.Buffer
		if code := run(context.Background(), args, nil, &stdout, &stderr); code != exitOK {
			t.Errorf("%v: exit status %d, want 0", args, code)
		}
		if !strings.Contains(stdout.String(), "Usage:") || stderr.Len() > 0 {
			t.Errorf("%v: standard output %q and standard error %q, want the help on the former", args, &stdout, &stderr)
		}
	}
}

func compareGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-) and what came out (+) differ:\n%s", path, diff)
	}
}
