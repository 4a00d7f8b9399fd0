// Package bench has a small run of each benchmark.
package bench

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"muster.dev/muster/e2e/process"
)

// small is how a target of the Makefile runs with little to do.
type small struct {
	env   string // variables, separated by spaces
	flags string
	// traces says that it needs traces, which are made.
	traces bool
	// without is why it cannot run here, nil for a target that always can.
	without func() error
}

// runs are the targets that measure. Each goes through all of its code, on as little as that takes.
var runs = map[string]small{
	"bench-verbs":      {env: "BENCH_SIZES=20,50", flags: "-calls=10"},
	"bench-predicates": {flags: "-rounds=2 -nodes=500"},
	"bench-devices":    {flags: "-rounds=1 -nodes=128"},
	"bench-load-core":  {env: "BENCH_NODES=100"},
	"bench-profiles":   {env: "BENCH_NODES=50"},
	"bench-growth":     {env: "BENCH_NODES=500"},
	"bench-placement":  {env: "BENCH_NODES=200 BENCH_TIMES=1x BENCH_SIZES=30 BENCH_ROUNDS=1 BENCH_PODS=20 BENCH_EAGER=1"},
	"bench-cluster": {
		env: "BENCH_SIZES=20 BENCH_ROUNDS=1 BENCH_PODS=20 BENCH_EAGER=1 SAMPLED_CLUSTERS=1 SAMPLED_NODES=500 SAMPLED_PODS=5",
	},
	"bench-affinity": {env: "BENCH_SIZES=60 BENCH_ROUNDS=1 BENCH_PODS=20 BENCH_EAGER=1"},
	"bench-perf": {
		env: "BENCH_NODES=200 BENCH_ROUNDS=1 BENCH_PODS=10 PERF_WAYS=extender " +
			"PERF_WORKLOADS=churn,preemption_churn,anti_affinity,csi_volumes,devices",
	},
	"bench-ahead":       {env: "BENCH_NODES=60 BENCH_ROUNDS=1 BENCH_PODS=20"},
	"bench-gang":        {env: "BENCH_ROUNDS=1 BENCH_SCALE=10 BENCH_WAIT=1s BENCH_CONTENDERS=native,muster"},
	"bench-failover":    {env: "BENCH_FAILOVERS=1"},
	"bench-pairs":       {env: "BENCH_KILLS=4", flags: "-impatient", without: process.Hosts},
	"bench-memory":      {env: "BENCH_SIZES=20 BENCH_ROUNDS=1", flags: "-pods=2"},
	"bench-margin":      {env: "BENCH_TRIALS=10 BENCH_NODES=100"},
	"bench-slow-gang":   {flags: "-members=20 -delays=20ms"},
	"bench-rescheduler": {flags: "-cases=1 -planning=200ms -solving=1s -rounds=2 -days=1 -nodes=400", traces: true},
	"bench-topology":    {flags: "-cases=3 -rounds=1 -scale=10 -replays=1 -days=1"},
	"bench-backfill":    {env: "BACKFILL_HOURS=6 BACKFILL_SEEDS=1"},
	"bench-auto":        {env: "BENCH_DAY=2m", flags: "-nodes=60 -hours=1"},
	"bench-load":        {env: "LOAD_SEEDS=1"},
	"openb":             {env: "OPENB_ROUNDS=1 OPENB_TRACES=distinct", traces: true},
}

const root = "../.."

// TestEveryBenchmarkRuns has each target of the Makefile measure little, and looks whether it prints figures.
func TestEveryBenchmarkRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts control planes by the dozen: make test-long runs this")
	}
	for _, target := range targets(t) {
		t.Run(target, func(t *testing.T) {
			run := runs[target]
			if run.without != nil {
				if err := run.without(); err != nil {
					t.Skip(err)
				}
			}
			began := time.Now()
			out := run.make(t, target)
			t.Logf("%s: %.0f s", target, time.Since(began).Seconds())
			printed := regexp.MustCompile(`(?m)^figure (\S+)=(\S+)$`).FindAllStringSubmatch(out, -1)
			for _, figure := range printed {
				if value, err := strconv.ParseFloat(figure[2], 64); err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
					t.Errorf("%s is no number", figure[0])
				}
			}
			printed = slices.DeleteFunc(printed, func(figure []string) bool { return figure[1] == "load_before" })
			if len(printed) == 0 || regexp.MustCompile(`(?m)^\s*(--- )?FAIL`).MatchString(out) {
				t.Errorf("%d figures:\n%s", len(printed), out)
			}
		})
	}
}

// make runs the target, and returns what it prints.
func (s small) make(t *testing.T, target string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-C", root, target, "BENCH_FLAGS="+s.flags)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MAKE") || strings.HasPrefix(v, "MFLAGS") || strings.HasPrefix(v, "BENCH_")
	})
	cmd.Env = append(append(cmd.Env, "TMPDIR="+t.TempDir()), strings.Fields(s.env)...)
	if s.traces {
		cmd.Env = append(cmd.Env, "DEMO_DATA="+writeTraces(t))
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("make %s: %v:\n%s", target, err, out.String())
	}
	return out.String()
}

// targets lists the targets of the Makefile that measure. Each needs a small run here.
func targets(t *testing.T) []string {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, found := range regexp.MustCompile(`(?m)^(bench-[a-z0-9-]+|openb):`).FindAllStringSubmatch(string(makefile), -1) {
		all = append(all, found[1])
	}
	return all
}

func TestEveryTargetHasASmallRun(t *testing.T) {
	all := targets(t)
	for _, target := range all {
		if _, known := runs[target]; !known {
			t.Errorf("make %s has no small run here", target)
		}
	}
	if len(all) != len(runs) {
		t.Errorf("%d targets measure, and there are %d small runs", len(all), len(runs))
	}
}

// writeTraces makes a small cluster and days of load that look like the traces that DEMO_DATA has, and returns their
// directory. All pods fit in any order, so every contender binds all of them.
func writeTraces(t *testing.T) string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 1))
	var nodes, pods, load strings.Builder
	nodes.WriteString("sn,cpu_milli,memory_mib,gpu,model\n")
	for i := range 12 {
		fmt.Fprintf(&nodes, "node-%02d,96000,393216,%d,V100\n", i, 8*(i%2))
	}
	pods.WriteString("name,cpu_milli,memory_mib,num_gpu,gpu_milli\n")
	for i := range 60 {
		fmt.Fprintf(&pods, "pod-%02d,%d,%d,%d,500\n", i, 1000*(1+random.IntN(12)), 1024*(1+random.IntN(16)), i%4/3)
	}
	load.WriteString("machine\n")
	for i := range 30 {
		fmt.Fprintf(&load, "machine-%d", i)
		for range 288 {
			fmt.Fprintf(&load, ",%d", min(100, i+random.IntN(40)))
		}
		load.WriteString("\n")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"openb_nodes.csv": nodes.String(), "openb_pods.csv": pods.String(),
		"planetlab_20110303.csv": strings.Replace(load.String(), "machine\n", "machine"+strings.Repeat(",use", 288)+"\n", 1),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
