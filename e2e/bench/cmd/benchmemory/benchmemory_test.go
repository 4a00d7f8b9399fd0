package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/process"
	"muster.dev/muster/e2e/workload"
)

func TestFiguresAreMediansOfTheRoundsRatios(t *testing.T) {
	of := func(ready time.Duration, resident, peak int64) measurement {
		return measurement{ready, process.Memory{Resident: resident * megabyte, Peak: peak * megabyte}}
	}
	r := results{
		schedulerProgram: {of(2*time.Second, 100, 200), of(4*time.Second, 100, 200), of(8*time.Second, 400, 400)},
		musterProgram:    {of(1*time.Second, 50, 180), of(3*time.Second, 60, 180), of(2*time.Second, 400, 400)},
	}
	var out strings.Builder
	r.print(&out, 150_000)
	want := `figure rss_scheduler_mb_150000=100.0
figure rss_muster_mb_150000=60.0
figure rss_vs_scheduler_150000=0.60
figure rss_peak_scheduler_mb_150000=200.0
figure rss_peak_muster_mb_150000=180.0
figure rss_peak_vs_scheduler_150000=0.90
figure ready_scheduler_s_150000=4.0
figure ready_muster_s_150000=2.0
figure ready_vs_scheduler_150000=0.50
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestPodsRunOnTheNodesThatTheyAreMadeFor(t *testing.T) {
	nodes := workload.Generate(workload.Shape{Nodes: 4, Seed: 1}).Nodes
	names, perNode := map[string]bool{}, map[string]int{}
	for _, from := range []int{0, 2} {
		for _, pod := range running(nodes[from:from+2], from, 3) {
			names[pod.Name] = true
			perNode[pod.Spec.NodeName]++
		}
	}
	if len(names) != 12 {
		t.Errorf("%d names of 12 pods", len(names))
	}
	for _, node := range nodes {
		if perNode[node.Name] != 3 {
			t.Errorf("%d pods on %s, want 3", perNode[node.Name], node.Name)
		}
	}
}

func TestWhatCannotBeMeasuredIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		pods int
		want string
	}{
		"no pods":        {nil, 0, "-pods=0: want at least 1"},
		"a size is 0":    {map[string]string{sizesEnv: "0"}, 1, "BENCH_SIZES=0"},
		"rounds in text": {map[string]string{roundsEnv: "few"}, 1, "BENCH_ROUNDS=few"},
	} {
		t.Run(name, func(t *testing.T) {
			err := run(context.Background(), test.pods, func(key string) string { return test.env[key] }, io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
