package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/effort"
	"muster.dev/muster/e2e/fit"
)

func TestPlanFromEnv(t *testing.T) {
	for name, test := range map[string]struct {
		env   map[string]string
		pods  int
		names []string
		ways  []contender.Contender
		err   string
	}{
		"nothing is set": {
			pods: 1000, names: namesOf(workloads()),
			ways: []contender.Contender{contender.Stock, contender.SameSample, contender.Scheduler, contender.Extender},
		},
		"everything is set": {
			env:  map[string]string{nodesEnv: "300", roundsEnv: "1", podsEnv: "20", workloadsEnv: "basic, devices", waysEnv: "nominate"},
			pods: 20, names: []string{"basic", "devices"}, ways: []contender.Contender{contender.Stock, contender.Nominate},
		},
		"an unknown workload": {
			env: map[string]string{workloadsEnv: "basic,simple"}, err: `PERF_WORKLOADS=basic,simple: workload "simple": want some of basic`,
		},
		"an unknown way":  {env: map[string]string{waysEnv: "faster"}, err: `PERF_WAYS=faster: way "faster": want some of [scheduler`},
		"stock is no way": {env: map[string]string{waysEnv: "stock"}, err: `way "stock"`},
		"too few nodes":   {env: map[string]string{nodesEnv: "10"}, err: "BENCH_NODES=10: want at least 200"},
		"too many pods":   {env: map[string]string{podsEnv: "50000"}, err: "BENCH_PODS=50000: want a number from 1 to 5000"},
		"no round":        {env: map[string]string{roundsEnv: "0"}, err: "BENCH_ROUNDS=0"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := planFromEnv(func(key string) string { return test.env[key] })
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want it to contain %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.pods != test.pods {
				t.Errorf("%d pods, want %d", got.pods, test.pods)
			}
			if diff := cmp.Diff(test.names, namesOf(got.workloads)); diff != "" {
				t.Errorf("workloads (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.ways, got.contenders); diff != "" {
				t.Errorf("contenders (-want +got):\n%s", diff)
			}
		})
	}
}

// What is there before fits, and leaves the pods that are measured room to be apart.
func TestSettledPodsFit(t *testing.T) {
	nodes := machines(600)
	known := map[string]bool{}
	for _, w := range workloads() {
		if known[w.name] {
			t.Errorf("there are two workloads %s", w.name)
		}
		known[w.name] = true
		if w.way == "" {
			t.Errorf("%s has no way that is recommended", w.name)
		}
		const measured = 50
		if got := len(w.measured(nodes, measured)); got != measured {
			t.Errorf("%s: %d pods are measured, want %d", w.name, got, measured)
		}
		if w.settled == nil {
			continue
		}
		ledger := fit.NewLedger()
		for _, n := range nodes {
			ledger.Node(n)
		}
		places := map[string]bool{}
		for _, p := range w.settled(nodes) {
			p.UID = types.UID(p.Namespace + "/" + p.Name)
			if _, lacking := ledger.Pod(p); len(lacking) > 0 {
				t.Fatalf("%s: node %s lacks %v for %s", w.name, p.Spec.NodeName, lacking, p.Name)
			}
			if w.apart && places[p.Spec.NodeName] {
				t.Errorf("%s: two pods are on node %s", w.name, p.Spec.NodeName)
			}
			places[p.Spec.NodeName] = true
		}
		if w.apart && len(nodes)-len(places) < measured {
			t.Errorf("%s: %d of %d nodes are taken: too few are left for %d pods", w.name, len(places), len(nodes), measured)
		}
	}
}

func TestPodsOfADaemonSetWantANodeEach(t *testing.T) {
	nodes := machines(3)
	var wanted []string
	for _, p := range daemonSet(nodes, 4) {
		wanted = append(
			wanted,
			p.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields[0].Values...)
	}
	if diff := cmp.Diff([]string{"node-00000", "node-00001", "node-00002", "node-00000"}, wanted); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}

func TestShapesOfOnePodAreNotThoseOfAnother(t *testing.T) {
	two := pods(plainNamespace, "pod", 2, near("some"), spread(corev1.DoNotSchedule))
	two[0].Labels["changed"] = ""
	if _, shared := two[1].Labels["changed"]; shared {
		t.Error("pods share their labels")
	}
}

func TestResultsCountTheWayThatIsRecommended(t *testing.T) {
	list := []scenario{
		{name: "fast", way: contender.Scheduler}, {name: "slow", way: contender.Scheduler}, {name: "other", way: contender.Offload},
	}
	of := func(rates ...float64) (all []measurement) {
		for _, rate := range rates {
			all = append(all, measurement{rate: rate, each: effort.PerPod{Cycle: effort.Quantiles{P50: time.Duration(1000 / rate)}}})
		}
		return all
	}
	r := results{
		{"fast", contender.Stock}: of(100, 50), {"fast", contender.Scheduler}: of(97, 48.5), {"fast", contender.Offload}: of(10, 10),
		{"slow", contender.Stock}: of(100, 50), {"slow", contender.Scheduler}: of(96, 48), {"slow", contender.Offload}: of(500, 500),
		{"other", contender.Stock}: of(100, 50), {"other", contender.SameSample}: of(200, 100), {"other", contender.Scheduler}: of(10, 5),
		{"other", contender.Offload}: of(400, 200),
	}
	var out strings.Builder
	r.print(&out, list, []contender.Contender{contender.Stock, contender.Scheduler, contender.Offload})
	lines := strings.Split(out.String(), "\n")
	for _, want := range []string{
		"figure perf_fast_vs_stock=0.97", "figure perf_slow_vs_stock=0.96", "figure perf_other_vs_stock=4.00",
		"figure perf_other_scheduler_vs_stock=0.10", "figure perf_workloads_below_097=1",
		"figure cycle_p50_perf_other_vs_stock=0.22", "figure cycle_p50_perf_other_vs_same_sample=0.45",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no line %q in\n%s", want, out.String())
		}
	}
	if !strings.Contains(out.String(), "300 (4.00*)") {
		t.Errorf("the way that is recommended is not marked in\n%s", out.String())
	}
}

func TestTheRecommendedWayIsMeasuredAndEveryRoundBeginsWithAnotherOne(t *testing.T) {
	p := plan{
		contenders: []contender.Contender{contender.Stock, contender.Extender},
		workloads:  []scenario{{name: "a", way: contender.Extender}, {name: "b", way: contender.Managed}},
	}
	for round, want := range [][]contender.Contender{
		{contender.Stock, contender.Extender, contender.Managed},
		{contender.Extender, contender.Managed, contender.Stock},
		{contender.Managed, contender.Stock, contender.Extender},
	} {
		if diff := cmp.Diff(want, p.order(p.workloads[1], round)); diff != "" {
			t.Errorf("round %d (-want +got):\n%s", round, diff)
		}
	}
	if diff := cmp.Diff(p.contenders, p.order(p.workloads[0], 0)); diff != "" {
		t.Errorf("a way that is among them anyway (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]contender.Contender{contender.Stock, contender.Extender, contender.Managed}, p.all()); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
}
