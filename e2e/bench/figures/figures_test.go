package figures

import (
	"math"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	for name, test := range map[string]struct {
		of   []float64
		want float64
	}{
		"one":        {of: []float64{3}, want: 3},
		"odd":        {of: []float64{9, 1, 5}, want: 5},
		"even":       {of: []float64{9, 1, 5, 7}, want: 6},
		"an outlier": {of: []float64{1, 2, 1000}, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			before := append([]float64(nil), test.of...)
			if got := Median(test.of); got != test.want {
				t.Errorf("Median(%v) = %v, want %v", before, got, test.want)
			}
			for i := range before {
				if before[i] != test.of[i] {
					t.Fatalf("Median changed %v to %v", before, test.of)
				}
			}
		})
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("Median of nothing is %v", got)
	}
}

func TestMedianRatioComparesRoundByRound(t *testing.T) {
	// The machine is half as fast in the second round and a quarter in the third.
	if got := MedianRatio([]float64{200, 100, 60}, []float64{100, 50, 25}); got != 2 {
		t.Errorf("ratio %v, want 2", got)
	}
	if got := MedianRatio([]float64{200, 100, 60}, []float64{100}); got != 2 {
		t.Errorf("ratio with one round in common %v, want 2", got)
	}
}

func TestNumber(t *testing.T) {
	if got, err := Number("BENCH_PODS", " 7 ", 9); got != 7 || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	for _, text := range []string{"0", "10", "-1", "many", ""} {
		if _, err := Number(
			"BENCH_PODS",
			text,
			9,
		); err == nil ||
			!strings.Contains(err.Error(), "BENCH_PODS="+text+": want a number from 1 to 9") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestQuantile(t *testing.T) {
	var of []int
	for i := range 200 {
		of = append(of, 200-i)
	}
	for percent, want := range map[int]int{0: 1, 50: 101, 99: 199, 100: 200} {
		if got := Quantile(of, percent); got != want {
			t.Errorf("quantile %d of 1 to 200 is %d, want %d", percent, got, want)
		}
	}
	if got := Quantile([]int{7}, 99); got != 7 {
		t.Errorf("quantile of one is %d", got)
	}
}
