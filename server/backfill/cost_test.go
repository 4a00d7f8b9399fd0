package backfill

import (
	"math"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func newCosts(most float64) *costs {
	return &costs{
		most: most, share: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "share"}, []string{"namespace"}),
		of: map[string]float64{}, barred: map[string]bool{},
	}
}

func TestANamespaceThatKeepsTooMuchIdleGetsNoBookingForAWhile(t *testing.T) {
	c := newCosts(0.2)
	pass := func(namespace string, share float64, long time.Duration) (barredAfter time.Duration) {
		for past := time.Duration(0); past < long; past += time.Second {
			if c.add(namespace, share, time.Second) {
				return past
			}
		}
		return -1
	}
	if after := pass("a", 0.1, 24*time.Hour); after >= 0 || c.barred["a"] {
		t.Fatalf("a tenth of the cluster is too much after %s", after)
	}
	// Of an average of a tenth, and four tenths now, a fifth is reached after 0.585 half-lives: 0.4 - 0.3 * 2^-0.585 = 0.2.
	if after := pass("a", 0.4, 2*time.Hour); (after - 35*time.Minute).Abs() > time.Minute {
		t.Errorf("it is too much after %s, want 35m", after)
	}
	if c.add("b", 0.4, time.Second); c.barred["b"] {
		t.Error("another namespace is barred")
	}
	if pass("", 0, 59*time.Minute); !c.barred["a"] {
		t.Error("it may keep room idle again before the average is down to half")
	}
	if pass("", 0, 2*time.Minute); c.barred["a"] {
		t.Error("it is barred for longer than its half-life")
	}
	if pass("", 0, 10*time.Hour); len(c.of) > 0 {
		t.Errorf("what is long past is kept: %v", c.of)
	}
}

func TestWithoutALimitNobodyIsBarred(t *testing.T) {
	c := newCosts(0)
	for range 10 {
		if c.add("a", 0.5, time.Hour) {
			t.Fatal("it is barred")
		}
	}
	if math.Abs(c.of["a"]-0.5) > 0.01 {
		t.Errorf("the average is %v, want 0.5", c.of["a"])
	}
}
