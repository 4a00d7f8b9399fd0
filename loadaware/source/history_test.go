package source

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"
	"unique"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

func TestStatisticsAreThoseOfAStraightforwardReference(t *testing.T) {
	names := []cluster.ScalarName{unique.Make(corev1.ResourceName("a")), unique.Make(corev1.ResourceName("b"))}
	seeded.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.IntRange(1, 400).Draw(t, "interval")) * time.Second
		limit := int(30*time.Minute/interval) + 1
		h := newHistory(interval)
		var all []sample
		now := time.Unix(1_000_000, 0)
		for range rapid.IntRange(1, 60).Draw(t, "samples") {
			now = now.Add(time.Duration(rapid.IntRange(-60, 600).Draw(t, "seconds later")) * time.Second)
			s := sample{now, cluster.Resources{
				MilliCPU: rapid.Int64Range(0, 1000).Draw(t, "cpu"), Memory: rapid.Int64Range(0, 1<<50).Draw(t, "memory"),
			}}
			for i, name := range names {
				if amount := rapid.Int64Range(0, 9).Draw(t, "scalar"); amount > 0 && rapid.Bool().Draw(t, fmt.Sprint("has scalar ", i)) {
					s.used.Scalars = append(s.used.Scalars, cluster.Scalar{Name: name, Amount: amount})
				}
			}
			newer := len(all) == 0 || now.After(all[len(all)-1].at)
			if got := h.add(s); got != newer {
				t.Fatalf("add says %t of a sample that is newer: %t", got, newer)
			}
			if newer {
				all = append(all, s)
			} else {
				now = all[len(all)-1].at
			}
		}
		if len(h.samples) > limit {
			t.Errorf("%d samples are kept, want at most %d", len(h.samples), limit)
		}
		kept := all[max(0, len(all)-limit):]
		for _, got := range h.aggregates(usualDurations()) {
			amounts := []func(*cluster.Resources) int64{
				func(r *cluster.Resources) int64 { return r.MilliCPU }, func(r *cluster.Resources) int64 { return r.Memory },
			}
			for _, name := range names {
				amounts = append(amounts, func(r *cluster.Resources) int64 { return r.Scalar(name) })
			}
			for _, amount := range amounts {
				var values []int64
				for i := range kept {
					if now.Sub(kept[i].at) < got.Duration {
						values = append(values, amount(&kept[i].used))
					}
				}
				if want := reference(got.Type, values); amount(&got.Used) != want {
					t.Errorf("%s over %s of %v is %d, want %d", got.Type, got.Duration, values, amount(&got.Used), want)
				}
			}
		}
	})
}

// reference counts for each value how many do not exceed it.
func reference(statistic string, values []int64) int64 {
	if statistic == "avg" {
		sum := 0.0
		for _, v := range values {
			sum += float64(v)
		}
		return int64(math.Floor(sum/float64(len(values)) + 0.5))
	}
	share := map[string]int{"p50": 50, "p90": 90, "p95": 95, "p99": 99}[statistic]
	least := slices.Max(values)
	for _, v := range values {
		within := 0
		for _, other := range values {
			if other <= v {
				within++
			}
		}
		if 100*within >= share*len(values) {
			least = min(least, v)
		}
	}
	return least
}

func TestStatisticsOfTenSamples(t *testing.T) {
	h := newHistory(15 * time.Second)
	start := time.Unix(1_000_000, 0)
	// 100, 200, …, 1000, a minute apart: the last five minutes have 600 to 1000.
	for i := range 10 {
		h.add(sample{start.Add(time.Duration(i) * time.Minute), cluster.Resources{MilliCPU: int64(i+1) * 100}})
	}
	got := map[string]int64{}
	for _, a := range h.aggregates(usualDurations()) {
		got[a.Type+" "+a.Duration.String()] = a.Used.MilliCPU
	}
	want := map[string]int64{
		// The third of five, and the fifth: of five samples 90 % are more than four.
		"avg 5m0s": 800, "p50 5m0s": 800, "p90 5m0s": 1000, "p95 5m0s": 1000, "p99 5m0s": 1000,
		// The fifth and the ninth of ten; 95 % are more than nine.
		"avg 10m0s": 550, "p50 10m0s": 500, "p90 10m0s": 900, "p95 10m0s": 1000, "p99 10m0s": 1000,
		"avg 30m0s": 550, "p50 30m0s": 500, "p90 30m0s": 900, "p95 30m0s": 1000, "p99 30m0s": 1000,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
}

func TestDurationsAreThoseThatAreWantedWithinBounds(t *testing.T) {
	minutes := func(all ...int) (durations []time.Duration) {
		for _, n := range all {
			durations = append(durations, time.Duration(n)*time.Minute)
		}
		return durations
	}
	for _, test := range []struct {
		name         string
		wanted, want []time.Duration
	}{
		{"the usual ones when none are", nil, minutes(5, 10, 30)},
		{"others besides", minutes(120, 15, 5), minutes(5, 10, 15, 30, 120)},
		{"not over longer than what is remembered, nor over no time", minutes(121, 0, -5), minutes(5, 10, 30)},
		{"the first of many, each once", minutes(45, 45, 9, 8, 7, 6, 4, 3, 2, 1), minutes(2, 3, 4, 5, 6, 7, 8, 9, 10, 30, 45)},
	} {
		if diff := cmp.Diff(test.want, Durations(test.wanted)); diff != "" {
			t.Errorf("%s, want (-) got (+):\n%s", test.name, diff)
		}
	}
}

// TestALongHistoryKeepsABoundedNumberOfSamples has a sample each second for two hours. Each minute uses its own
// number.
func TestALongHistoryKeepsABoundedNumberOfSamples(t *testing.T) {
	h := newHistory(time.Second)
	h.span = LongestDuration
	start := time.Unix(1_000_000, 0)
	for i := range 7200 {
		h.add(sample{start.Add(time.Duration(i) * time.Second), cpu(int64(i / 60))})
		if len(h.samples) > mostSamples {
			t.Fatalf("%d samples after %d seconds", len(h.samples), i)
		}
		if last := h.samples[len(h.samples)-1]; last.used.MilliCPU != int64(i/60) {
			t.Fatalf("after %d seconds the last one has %d", i, last.used.MilliCPU)
		}
	}
	for _, a := range h.aggregates([]time.Duration{10 * time.Minute, 2 * time.Hour}) {
		want := map[string]int64{"p50 10m0s": 114, "p90 10m0s": 118, "p50 2h0m0s": 59, "p90 2h0m0s": 107}[a.Type+" "+a.Duration.String()]
		if want > 0 && (a.Used.MilliCPU < want-1 || a.Used.MilliCPU > want+1) {
			t.Errorf("%s over %s is %d, want about %d", a.Type, a.Duration, a.Used.MilliCPU, want)
		}
	}
}
