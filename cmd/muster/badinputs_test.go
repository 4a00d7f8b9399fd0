package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// fewest is the least number of bad inputs for each command. Each command answers them with what is wrong and what would be
// right.
const fewest = 10

// badConfigurations are files that are no configurations, for a command that takes one by a flag.
func badConfigurations(before string) (lines []string) {
	for _, name := range []string{
		"kind", "version", "field", "syntax", "twice", "type", "empty", "absent", "meant", "value", "profiles",
	} {
		lines = append(lines, before+"testdata/bad/"+name+".yaml")
	}
	return append(lines, before+"testdata/bad.yaml", before+"testdata")
}

// badInputs are command lines by command.
func badInputs() map[string][]string {
	const absent = "testdata/absent.kubeconfig"
	return map[string][]string{
		"serve": append(badConfigurations("--config "),
			"muster.yaml", "now", "--confg muster.yaml", "--listen localhost", "--log-level loud", "--log-format xml", "--kubeconfig "+absent,
			"--snapshot dump.yaml --kubeconfig admin.kubeconfig", "--listen 127.0.0.1:0 --snapshot testdata/absent.yaml", "--listen"),
		"reschedule": append(badConfigurations("--config "),
			"muster.yaml", "now", "--confg muster.yaml", "--log-level loud", "--log-format xml", "--kubeconfig "+absent, "--log-level"),
		"preflight": append(badConfigurations("--config "),
			"muster.yaml", "-o wide", "--otput json", "--name A_B", "--name=", "--kubeconfig "+absent, "--as"),
		"release": append(badConfigurations("--config "),
			"shop/web-1", "--namespace Shop", "--dry-run=perhaps", "--when-away 2", "--when-away=-2m", "--kubeconfig "+absent, "--dryrun"),
		"install": append(badConfigurations("--managed --image example.com/muster:v1 --kubernetes-version v1.36.0 --config "),
			"", "muster.yaml", "--kubeadm", "--kubeadm --k3s", "--managed --image", "--managed --image example.com/muster",
			"--managed --image a:b:c",
			"--kubeadm --image example.com/muster:v1 --kubernetes-version 36", "--managed --image example.com/muster:v1",
			"--managed --image example.com/muster:v1 --write-to testdata", "--k3s --image example.com/muster:v1 --write-to testdata/absent",
			"--k3s --image example.com/muster:v1 --write-to=", "--managd", "--managed --image example.com/muster:v1 --apply --kubeconfig "+absent,
			"--kubeadm --image example.com/muster:v1 --kubernetes-version v1.36.0 --config testdata/tls.yaml", "--k3s=perhaps"),
		"uninstall": {
			"muster", "--yes --dry-run", "--kubeadm", "--kubeadm --k3s --remove-from testdata", "--remove-from testdata", "--managed",
			"--k3s --remove-from testdata/absent", "--k3s --remove-from=", "--kubeconfig " + absent, "--dryrun", "--yes=perhaps", "--with-object",
		},
		"gate-policy":      append(badConfigurations("--config "), "muster.yaml", "--confg muster.yaml", "--name a"),
		"managed-policy":   append(badConfigurations("--config "), "muster.yaml", "--confg muster.yaml", "--name a"),
		"scheduler-policy": append(badConfigurations("--config "), "muster.yaml", "--manage", "--managed=1x"),
		"scheduler-config": append(badConfigurations("--config "),
			"muster.yaml", "--url 127.0.0.1:8888", "--url ftp://127.0.0.1:8888", "--percentage-of-nodes-to-score ten",
			"--percentage-of-nodes-to-score 101", "--leader-elect=perhaps", "--urll http://127.0.0.1:1"),
		"account-policy": {
			"muster", "--user=", "--user", "--name A_B", "--name=", "--with-scheduler=2", "--usr m", "--with-schedulers", "--rescheduler-user",
			"--rescheduler m",
		},
		"config default": {
			"muster.yaml",
			"v1alpha1",
			"-o yaml",
			"--output json",
			"--config a",
			"-f a",
			"--version",
			"--help=perhaps",
			"a b",
			"--all",
		},
		"config validate": append(badConfigurations(""), "", "--file testdata/tls.yaml", "testdata/tls.yaml testdata/absent.yaml"),
		"config convert": append(badConfigurations("-f "),
			"", "testdata/old.yaml", "--fil testdata/old.yaml", "-f testdata/old.yaml -o testdata/absent/new.yaml", "-f"),
		"plan": append(badConfigurations("-f testdata/fragmented.yaml --config "),
			"dump.yaml", "-f testdata/fragmented.yaml --policy Defragment", "-f testdata/fragmented.yaml -o wide", "-f testdata/bad.yaml",
			"-f testdata/fragmented.yaml --selector a=b=c", "-f testdata/fragmented.yaml --node-selector a=b=c", "--hops 0", "--time -1s",
			"--min-age=-5m", "--max-evictions -1", "--max-evictions many", "--time 5", "--seed -1", "--now", "-f dump.yaml --kubeconfig a",
			"-f dump.yaml --context a", "--context a"),
		"report": append(badConfigurations("--snapshot testdata/fragmented.yaml --config "),
			"", "dump.yaml", "--snapshot dump.yaml --context c", "--snapshot testdata/absent.yaml", "--snapshot testdata/bad.yaml", "--snapshots a",
			"--snapshot testdata/fragmented.yaml --time -1s", "--snapshot testdata/fragmented.yaml --time soon"),
		"try": append(badConfigurations("-f testdata/deployment.yaml --snapshot testdata/fragmented.yaml --config "),
			"", "deployment.yaml", "-f testdata/absent.yaml", "-f testdata/deployment.yaml --snapshot testdata/absent.yaml",
			"-f testdata/deployment.yaml --snapshot testdata/bad.yaml", "-f - --snapshot -", "-f testdata/deployment.yaml -o xml",
			"-f testdata/deployment.yaml --snapshot testdata/fragmented.yaml --context c", "-f testdata/deployment.yaml --kubeconfig "+absent,
			"-f testdata/bad/kind.yaml --snapshot testdata/fragmented.yaml", "-f testdata/bad/syntax.yaml --snapshot testdata/fragmented.yaml",
			"-f testdata/deployment.yaml --snapshots a", "-f testdata/deployment.yaml -n"),
		"simulate": append(
			badConfigurations("--trace testdata/jobs.csv --nodes 1:cpu=1 --config "),
			"",
			"jobs.csv",
			"--trace testdata/jobs.csv",
			"--trace testdata/absent.csv",
			"--trace testdata",
			"--trace testdata/jobs.csv --nodes 0:cpu=1",
			"--trace testdata/jobs.csv --nodes 1:cpu=lots",
			"--trace testdata/jobs.csv --nodes testdata/absent.yaml",
			"--trace testdata/jobs.csv --nodes testdata/bad.yaml",
			"--trace testdata/jobs.csv --nodes testdata/pod.yaml",
			"--trace testdata/jobs.csv --nodes 1:cpu=1 --trace-format xml",
			"--trace testdata/jobs.csv --nodes 1:cpu=1 --trace-format sacct",
			"--trace testdata/pod.yaml --nodes 1:cpu=1",
			"--trace testdata/jobs.csv --nodes 1:cpu=1 --for -1h",
			"--trace testdata/jobs.csv --nodes 1:cpu=1 --for soon",
			"--trace testdata/jobs.csv --nodes 1:cpu=1 -o wide",
			"--trace - --nodes -",
			"--trace testdata/jobs.csv --nodes 1:cpu=1 --against testdata/bad.yaml",
			"--trace testdata/jobs.csv --nodes 1:cpu=1 --config -",
			"--trace testdata/jobs.csv --nodes 1:cpu=1 --for 1s --html testdata/absent/page.html",
		),
		"explain": {
			"",
			"pod",
			"pods/",
			"podd web-1",
			"default/web-1",
			"web-1",
			"node/a",
			"pod a b",
			"pod/a b",
			"pod a/b/c",
			"pod/a -n",
			"pod default/a -n lab",
			"pod/a -o xml",
			"pod/a --nods",
			"pod/a --nodes=perhaps",
			"pod/a --kubeconfig " + absent,
			"pod/a --server 127.0.0.1:8887",
			"pod/a --server http://127.0.0.1:1 --context c",
			"pod/a --snapshot a --context c",
			"pod/a --server https://127.0.0.1:1 --client-key k",
			"pod/a --server https://127.0.0.1:1 --certificate-authority testdata/absent.crt",
			"pod/a --config a",
			"jobb/a",
			"job/a",
			"job a/b/c",
			"-f testdata/bad/kind.yaml --snapshot testdata/fragmented.yaml",
			"-f testdata/unknown-field.yaml --snapshot testdata/fragmented.yaml",
			"-f testdata/bad/syntax.yaml --snapshot testdata/fragmented.yaml",
			"-f testdata/twice.yaml --snapshot testdata/fragmented.yaml",
			"pod/a -f testdata/pod.yaml",
			"-f testdata/absent.yaml",
			"-n lab -f testdata/pod.yaml",
		},
		"status": {
			"muster", "-o xml", "--watc", "--watch=perhaps", "--interval 1s", "--watch --interval 1ms", "--watch --interval 2",
			"--watch --snapshot a", "--rescheduler 127.0.0.1:8889", "--rescheduler http://127.0.0.1:1 --snapshot a", "--server nowhere",
			"--kubeconfig " + absent, "--server http://127.0.0.1:1 -n lab", "--snapshot testdata/absent.yaml", "--config a", "--interval",
		},
		"why": {
			"",
			"gang",
			"gangs/",
			"gnag/a",
			"lab/a",
			"node/a",
			"gang a b",
			"gang/a/b/c",
			"plan a/b",
			"plan/a -n lab",
			"gang/a -n",
			"gang lab/a -n shop",
			"gang/a -o xml",
			"plan/a --reschedulr b",
			"plan/a --rescheduler 127.0.0.1:8889",
			"gang/a --kubeconfig " + absent,
			"gang/a --server nowhere",
			"gang/a --snapshot testdata/fragmented.yaml",
			"plan/a --snapshot testdata/fragmented.yaml",
		},
		"when": {
			"",
			"gang",
			"gnag/a",
			"pod/a",
			"gang a b",
			"gang/a/b/c",
			"gang lab/a -n shop",
			"gang/a -o xml",
			"gang/a --nodes",
			"gang/a --server nowhere",
			"gang/a --kubeconfig " + absent,
			"gang/a --snapshot testdata/fragmented.yaml",
		},
		"version": {"muster", "-o json", "--output yaml", "--client", "--short", "v1", "a b", "--help=perhaps", "-x", "--verson"},
	}
}

// leaves are the commands that do something, without the name of the program.
func leaves(cmd *cobra.Command) (names []string) {
	for _, child := range cmd.Commands() {
		names = append(names, leaves(child)...)
	}
	if !cmd.HasSubCommands() {
		names = append(names, strings.TrimPrefix(cmd.CommandPath(), "muster "))
	}
	return names
}

func TestEachCommandSaysWhatIsWrongWithItsInput(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "testdata/absent.kubeconfig")
	all := badInputs()
	for _, command := range leaves(newRootCommand()) {
		t.Run(command, func(t *testing.T) {
			lines := all[command]
			if different := len(slices.Compact(slices.Sorted(slices.Values(lines)))); different < fewest {
				t.Errorf("%s has %d bad inputs, want %d", command, different, fewest)
			}
			var transcript strings.Builder
			for _, line := range lines {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // none of these keeps running
				var stdout, stderr bytes.Buffer
				args := strings.TrimSpace(command + " " + line)
				code := run(ctx, strings.Fields(args), strings.NewReader(""), &stdout, &stderr)
				cancel()
				if code != exitFailure && code != exitUsage || stdout.Len()+stderr.Len() == 0 {
					t.Errorf("%s: exit status %d, it says %q", args, code, &stderr)
				}
				said := withoutTimes(stderr.String())
				fmt.Fprintf(&transcript, "$ muster %s\n%s%s--- exit status %d\n", args, &stdout, said, code)
			}
			compareGolden(t, filepath.Join("testdata", "bad", strings.ReplaceAll(command, " ", "-")+".golden"), transcript.String())
		})
	}
}

// withoutTimes leaves out when something was logged.
func withoutTimes(log string) string {
	var kept []string
	for line := range strings.Lines(log) {
		if rest, found := strings.CutPrefix(line, "time="); found {
			_, line, _ = strings.Cut(rest, " ")
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "")
}
