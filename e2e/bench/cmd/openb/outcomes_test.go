package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/workload"
)

func TestTheTimeOfNineTenths(t *testing.T) {
	began := time.Now()
	times := func(seconds ...int) (all []time.Time) {
		for _, s := range seconds {
			all = append(all, began.Add(time.Duration(s)*time.Second))
		}
		return all
	}
	for name, test := range map[string]struct {
		boundAt []time.Time
		want    time.Duration
	}{
		"nothing is bound":          {nil, 0},
		"one pod":                   {times(5), 0},
		"the last of ten is late":   {times(1, 2, 3, 4, 5, 6, 7, 8, 9, 100), 8 * time.Second},
		"of eleven, ten are needed": {times(1, 2, 3, 4, 5, 6, 7, 8, 9, 50, 100), 49 * time.Second},
	} {
		if got := timeOfMost(test.boundAt); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestFiguresAreMedians(t *testing.T) {
	r := outcomes{
		contender.Stock:    {{10, 0, 30 * time.Second}, {12, 1, 10 * time.Second}, {11, 0, 20 * time.Second}},
		contender.Nominate: {{9, 0, 15 * time.Second}, {12, 0, 10 * time.Second}, {10, 2, 40 * time.Second}},
	}
	var out strings.Builder
	r.print(&out, trace{prefix: "distinct_"}, []contender.Contender{contender.Stock, contender.Nominate})
	_, figures, _ := strings.Cut(out.String(), "figure ")
	want := `openb_distinct_bound_stock=11
figure openb_distinct_unbound_fitting_stock=0
figure openb_distinct_bound_nominate=10
figure openb_distinct_unbound_fitting_nominate=0
figure openb_distinct_time_vs_stock_nominate=1.00
`
	if diff := cmp.Diff(want, figures); diff != "" {
		t.Errorf("figures (-want +got):\n%s", diff)
	}
	err := r.judge()
	if err == nil || !strings.Contains(err.Error(), "nominate bound 10 pods, the stock scheduler alone 11") ||
		strings.Contains(err.Error(), "left") {
		t.Errorf("verdict %v", err)
	}
	r[contender.Nominate][0].stranded = 1
	if err := r.judge(); err == nil || !strings.Contains(err.Error(), "nominate left 1 pods unbound") {
		t.Errorf("verdict %v", err)
	}
}

func TestNoTwoPodsAreAlike(t *testing.T) {
	c := &workload.Cluster{Pods: workload.Backlog(20, 2)}
	before := c.Pods[3].Spec.Containers[0].Resources.Requests[corev1.ResourceMemory]
	seen := sets.New[string]()
	for _, pod := range distinct(c).Pods {
		memory := pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory]
		seen.Insert(memory.String())
	}
	if len(seen) != len(c.Pods) {
		t.Errorf("memory: %v", sets.List(seen))
	}
	if after := c.Pods[3].Spec.Containers[0].Resources.Requests[corev1.ResourceMemory]; after.Cmp(before) != 0 {
		t.Errorf("the trace itself has changed: %s, was %s", &after, &before)
	}
}

func TestBadSettingsAreRefused(t *testing.T) {
	for _, text := range []string{"0", "21", "many", "-1"} {
		getenv := func(string) string { return text }
		if _, err := figures.FromEnv(getenv, roundsEnv, 1, mostRounds); err == nil || !strings.Contains(err.Error(), "OPENB_ROUNDS="+text) {
			t.Errorf("rounds %q: %v", text, err)
		}
	}
	if _, err := tracesOf("both"); err == nil || !strings.Contains(err.Error(), "OPENB_TRACES=both") {
		t.Errorf("traces: %v", err)
	}
	if all, err := tracesOf(""); err != nil || len(all) != 2 {
		t.Errorf("%v, error %v", all, err)
	}
}
