package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/contender"
)

func TestPlanFromEnv(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want plan
		err  string
	}{
		"nothing is set":          {want: plan{sizes: []int{1000, 5000}, rounds: 5}},
		"everything is set":       {env: map[string]string{sizesEnv: "100, 200", roundsEnv: "1", podsEnv: "50"}, want: plan{sizes: []int{100, 200}, rounds: 1, pods: 50}},
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
		r[c] = []float64{100, 100, 100}
	}
	// The machine is three times as fast in the last round.
	r[cell{contender.Stock, 5000, true}] = []float64{20, 25, 60}
	r[cell{contender.Extender, 5000, true}] = []float64{40, 40, 120}
	r[cell{contender.Empty, 5000, true}] = []float64{30, 10, 40}
	r[cell{contender.Scheduler, 5000, true}] = []float64{45, 20, 40}

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

func TestTheAffinityTrialComparesWithTheStockScheduler(t *testing.T) {
	trial := affinity()
	r := results{}
	for i, c := range trial.cells(1000) {
		r[c] = []float64{float64(10 * (i + 1))}
	}
	var out strings.Builder
	r.printFigures(&out, trial, []int{1000})
	want := `figure affinity_stock_pods_per_s_1000=10.0
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
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
}

func TestTheMedianOfAnEvenNumberIsBetweenTheMiddleTwo(t *testing.T) {
	if got := median([]float64{4, 1, 3, 10}); got != 3.5 {
		t.Errorf("median %v, want 3.5", got)
	}
}
