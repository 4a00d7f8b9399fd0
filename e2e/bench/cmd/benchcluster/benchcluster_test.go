package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/effort"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/workload"
)

func TestPlanFromEnv(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want plan
		err  string
	}{
		"nothing is set": {want: plan{sizes: []int{1000, 5000}, rounds: 5}},
		"everything is set": {
			env:  map[string]string{sizesEnv: "100, 200", roundsEnv: "1", podsEnv: "50"},
			want: plan{sizes: []int{100, 200}, rounds: 1, pods: 50},
		},
		"a size is a word":        {env: map[string]string{sizesEnv: "100,big"}, err: "BENCH_SIZES=big"},
		"a size is missing":       {env: map[string]string{sizesEnv: "100,"}, err: "BENCH_SIZES="},
		"no round":                {env: map[string]string{roundsEnv: "0"}, err: "BENCH_ROUNDS=0"},
		"one pod makes no rate":   {env: map[string]string{podsEnv: "1"}, err: "BENCH_PODS=1"},
		"more pods than sensible": {env: map[string]string{podsEnv: "1000000"}, err: "from 1 to 20000"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := planFromEnv(plain(), func(key string) string { return test.env[key] })
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want it to contain %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(plan{})); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFiguresAreMediansOfRoundsAndOfTheirRatios(t *testing.T) {
	r := results{}
	trial := plain()
	for _, c := range trial.cells(5000) {
		r[c] = rounds(100, 100, 100)
	}
	all := func(c contender.Contender) cell { return cell{entry{c, setting{arrival: backlog, all: true}}, 5000} }
	// The machine is three times as fast in the last round.
	r[all(contender.Stock)] = rounds(20, 25, 60)
	r[all(contender.Extender)] = rounds(40, 40, 120)
	r[all(contender.Empty)] = rounds(30, 10, 40)
	r[all(contender.Scheduler)] = rounds(45, 20, 40)

	var out strings.Builder
	r.printFigures(&out, trial, []int{5000})
	for _, want := range []string{
		"figure stock_5000_all=25.0\n",
		"figure empty_5000_all=30.0\n",
		"figure extender_5000_all=40.0\n",
		"figure stock_5000_sampled=100.0\n",
		"figure extender_vs_stock_5000_all=2.00\n",
		"figure scheduler_vs_empty_5000=1.50\n",
		"figure scheduler_vs_empty_5000_sampled=1.00\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
}

// rounds returns measurements with rates in pods per second.
func rounds(rates ...float64) []measurement {
	var all []measurement
	for _, rate := range rates {
		all = append(all, measurement{rate: rate})
	}
	return all
}

func TestWhatPodsCostIsComparedAsTheirRatesAre(t *testing.T) {
	sampled := setting{arrival: backlog}
	of := func(c contender.Contender) cell { return cell{entry{c, sampled}, 5000} }
	costing := func(cpu, p50, p99 time.Duration) []measurement {
		return []measurement{{rate: 1, each: effort.PerPod{
			CPU: map[effort.Part]time.Duration{effort.Extender: cpu}, Cycle: effort.Quantiles{P50: p50, P99: p99},
			Attempt: effort.Quantiles{P50: 7, P99: 7},
		}}}
	}
	r := results{
		of(contender.Stock): costing(4, 10, 100), of(contender.SameSample): costing(2, 5, 40), of(contender.Extender): costing(3, 6, 20),
	}
	var out strings.Builder
	r.printFigures(&out, plain(), []int{5000})
	for _, want := range []string{
		"figure cpu_extender_vs_stock_5000_sampled=0.75\n", "figure cpu_extender_vs_same_sample_5000=1.50\n",
		"figure cycle_p50_extender_vs_stock_5000_sampled=0.60\n", "figure cycle_p99_extender_vs_same_sample_5000=0.50\n",
		"figure attempt_p50_extender_vs_stock_5000_sampled=1.00\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, out.String())
		}
	}
}

func TestFiguresOfATrial(t *testing.T) {
	for name, test := range map[string]struct {
		trial trial
		want  string
	}{
		"affinity is compared with the stock scheduler": {affinity(), `figure affinity_stock_pods_per_s_1000=10.0
figure affinity_extender_pods_per_s_1000=20.0
figure affinity_offload_pods_per_s_1000=30.0
figure affinity_offload_no_preemption_pods_per_s_1000=40.0
figure affinity_nominate_offload_pods_per_s_1000=50.0
figure affinity_empty_offload_pods_per_s_1000=60.0
figure affinity_vs_stock_1000=2.00
figure affinity_offload_vs_stock_1000=3.00
figure affinity_offload_no_preemption_vs_stock_1000=4.00
figure affinity_nominate_offload_vs_stock_1000=5.00
figure affinity_empty_vs_stock_1000=6.00
`},
		"live pods are compared with live ones, others with a backlog": {placementPlain(), `figure placement_backlog_stock_1000_all=10.0
figure placement_nominated_nominate_1000_all=20.0
figure placement_together_nominate_1000_all=30.0
figure placement_live_stock_1000_all=40.0
figure placement_live_nominate_1000_all=50.0
figure nominate_backlog_vs_stock_1000_all=2.00
figure nominate_backlog_together_vs_stock_1000_all=3.00
figure nominate_live_vs_stock_1000_all=1.25
figure nominate_backlog_lead_s_1000=2.0
`},
		"so are pods that keep apart": {placementAffinity(), `figure placement_affinity_backlog_stock_1000=10.0
figure placement_affinity_nominated_nominate_offload_1000=20.0
figure placement_affinity_together_nominate_offload_1000=30.0
figure placement_affinity_live_stock_1000=40.0
figure placement_affinity_live_nominate_offload_1000=50.0
figure nominate_affinity_vs_stock_1000=2.00
figure nominate_affinity_together_vs_stock_1000=3.00
figure nominate_affinity_live_vs_stock_1000=1.25
figure nominate_affinity_lead_s_1000=2.0
`},
	} {
		t.Run(name, func(t *testing.T) {
			r := results{}
			for i, c := range test.trial.cells(1000) {
				r[c] = []measurement{{rate: float64(10 * (i + 1)), lead: time.Duration(i+1) * time.Second}}
			}
			var out strings.Builder
			r.printFigures(&out, test.trial, []int{1000})
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoTwoFiguresHaveOneName(t *testing.T) {
	seen := map[string]bool{}
	for _, trial := range append(append(placement(), ahead()...), plain(), affinity()) {
		r := results{}
		for _, c := range trial.cells(1000) {
			r[c] = rounds(1)
		}
		var out strings.Builder
		r.printFigures(&out, trial, []int{1000})
		for line := range strings.Lines(out.String()) {
			name, _, _ := strings.Cut(line, "=")
			if seen[name] {
				t.Errorf("%s is printed twice", name)
			}
			seen[name] = true
		}
	}
}

func TestTheTableLeavesOutWhatIsNotMeasured(t *testing.T) {
	trial := placementPlain()
	r := results{}
	for i, c := range trial.cells(1000) {
		r[c] = rounds(float64(i + 1))
	}
	var out strings.Builder
	r.printTable(&out, trial, []int{1000})
	lines := strings.Split(out.String(), "\n")
	want := map[string][]string{ // by contender
		"stock scheduler alone":               {"1", "(1", "to", "1)", "4", "(4", "to", "4)"},
		"with muster, nodeSelection: Muster ": {"2", "(2", "to", "2)", "3", "(3", "to", "3)", "5", "(5", "to", "5)"},
	}
	got := map[string][]string{}
	for _, line := range lines {
		for who := range want {
			if _, after, ok := strings.Cut(line, who); ok {
				got[who] = strings.Fields(after)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s\n%s", diff, out.String())
	}
}

func TestPodsThatAreWhereTheyMustNotBeFailACell(t *testing.T) {
	node := workload.NewNode("node", "1", workload.Room(1, 9))
	node.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("100m")
	lab := laboratory{Lab: &lab.Lab{Nodes: []*corev1.Node{node}}}
	bound := func(pods []*corev1.Pod) []*corev1.Pod { // each asks for 50m
		for _, p := range pods {
			p.UID, p.Spec.NodeName = types.UID(p.Name), "node"
		}
		return pods
	}
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		err  string
	}{
		"there is room for all":       {bound(workload.Backlog(2, 1)), ""},
		"the node is overcommitted":   {bound(workload.Backlog(3, 1)), "[cpu]"},
		"anti-affinity is overlooked": {bound(keepApart(workload.Backlog(2, 1))), "anti-affinity"},
	} {
		t.Run(name, func(t *testing.T) {
			err := lab.judge(test.pods)
			if test.err == "" && err == nil {
				return
			}
			if err == nil || test.err == "" || !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

func TestRate(t *testing.T) {
	began := time.Now()
	tally := podwatch.Tally{Bound: 101, First: began.Add(30 * time.Second), Last: began.Add(50 * time.Second)}
	for name, test := range map[string]struct {
		meeting meeting
		want    float64
	}{
		"pods that waited count since the first was bound": {meeting{}, 5},
		"live pods count since the first was created":      {meeting{created: began}, 2.02},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.meeting.rate(tally); got != test.want {
				t.Errorf("%v pods per second, want %v", got, test.want)
			}
		})
	}
}
