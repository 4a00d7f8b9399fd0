package source

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
)

// kept is a Keeper that runs, and the usage of node n as it was last looked at.
type kept struct {
	*Keeper
	*testing.T
	registry *prometheus.Registry
	last     *cluster.Usage
}

func keep(t *testing.T, test func(k *kept), expirations ...time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		k := &kept{T: t, registry: prometheus.NewRegistry()}
		k.Keeper = NewKeeper(KeeperOptions{
			Clock: clock.RealClock{}, Registerer: k.registry, Cluster: newCluster(t, "n"), Expirations: expirations,
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			k.Keeper.Run(ctx)
			close(ended)
		}()
		test(k)
		cancel()
		<-ended
	})
}

// pass lets time pass, and returns how often the usage was set since it was last called.
func (k *kept) pass(d time.Duration) int {
	k.Helper()
	sets := 0
	for until := time.Now().Add(d); ; {
		synctest.Wait()
		if usage := k.cluster.Snapshot().NodeByName("n").Usage; usage != k.last {
			k.last = usage
			sets++
		}
		if !time.Now().Before(until) {
			return sets
		}
		<-time.After(time.Second)
	}
}

func TestFiguresAreSeenAnewWhenTheirAgeCrossesAnExpirationAndNotMoreOften(t *testing.T) {
	keep(t, func(k *kept) {
		began := time.Now()
		k.Report("n", &cluster.Usage{Updated: began, Node: cluster.Resources{MilliCPU: 7}})
		if sets := k.pass(0); sets != 1 || k.last.Age() != 0 || k.last.Node.MilliCPU != 7 {
			t.Errorf("set %d times, to %+v, want what was reported, of age 0", sets, k.last)
		}
		if sets := k.pass(59 * time.Second); sets != 0 {
			t.Errorf("set %d times before anything expires", sets)
		}
		if sets := k.pass(time.Second); sets != 1 || k.last.Age() != time.Minute || k.last.Node.MilliCPU != 7 {
			t.Errorf("set %d times, to %+v, want the same figures at the age of a minute", sets, k.last)
		}
		if sets := k.pass(2 * time.Minute); sets != 1 || k.last.Age() != 3*time.Minute {
			t.Errorf("set %d times, to %+v, want them at the age of three minutes", sets, k.last)
		}
		if sets := k.pass(time.Hour); sets != 0 {
			t.Errorf("set %d times after everything has expired", sets)
		}
	}, 3*time.Minute, time.Minute)
}

func TestOtherExpirationsCountFromWhenTheyAreSet(t *testing.T) {
	keep(t, func(k *kept) {
		k.Report("n", &cluster.Usage{Updated: time.Now()})
		k.pass(time.Minute)
		k.Expire([]time.Duration{time.Hour}) // what was set already
		if sets := k.pass(0); sets != 0 {
			t.Errorf("set %d times for nothing", sets)
		}
		k.Expire([]time.Duration{2 * time.Minute, 30 * time.Second})
		if sets := k.pass(0); sets != 1 || k.last.Age() != time.Minute {
			t.Errorf("set %d times, to %+v, want the age that matters now", sets, k.last)
		}
		if sets := k.pass(time.Hour); sets != 1 || k.last.Age() != 2*time.Minute {
			t.Errorf("set %d times, to %+v, want what expired", sets, k.last)
		}
	}, time.Hour)
}

func TestAReportPutsExpirationOff(t *testing.T) {
	keep(t, func(k *kept) {
		for range 5 {
			k.Report("n", &cluster.Usage{Updated: time.Now().Add(-10 * time.Second)})
			if sets := k.pass(45 * time.Second); sets != 1 || k.last.Age() != 10*time.Second {
				t.Errorf("set %d times, to %+v, want once with each report", sets, k.last)
			}
		}
		if sets := k.pass(5 * time.Second); sets != 1 || k.last.Age() != time.Minute {
			t.Errorf("set %d times, to %+v, want what expired", sets, k.last)
		}
	}, time.Minute)
}

func TestFiguresThatComeLateHaveExpiredAlready(t *testing.T) {
	keep(t, func(k *kept) {
		k.Report("n", &cluster.Usage{Updated: time.Now().Add(-time.Hour)})
		if sets := k.pass(time.Hour); sets != 1 || k.last.Age() != time.Hour {
			t.Errorf("set %d times, to %+v, want once at the age of an hour", sets, k.last)
		}
	}, time.Minute)
}

func TestANodeThatWasNeverMeasuredIsSetOnce(t *testing.T) {
	keep(t, func(k *kept) {
		k.Report("n", &cluster.Usage{})
		if sets := k.pass(time.Hour); sets != 1 || !k.last.Updated.IsZero() || k.last.Seen.IsZero() {
			t.Errorf("set %d times, to %+v", sets, k.last)
		}
	}, time.Minute)
}

func TestWhatIsKnownNoMoreIsTakenBackAndDoesNotExpire(t *testing.T) {
	keep(t, func(k *kept) {
		k.Report("n", &cluster.Usage{Updated: time.Now()})
		k.pass(0)
		k.Report("n", nil)
		if k.pass(time.Hour); k.last != nil {
			t.Errorf("the node has %+v, want nothing", k.last)
		}
	}, time.Minute)
}

func TestTheMetricsTellHowOldFiguresAre(t *testing.T) {
	keep(t, func(k *kept) {
		k.Report("n", &cluster.Usage{Updated: time.Now().Add(-time.Minute)})
		k.Report("old", &cluster.Usage{Updated: time.Now().Add(-3 * time.Minute)})
		k.Report("ahead", &cluster.Usage{Updated: time.Now().Add(time.Minute)}) // its clock is
		k.Report("silent", &cluster.Usage{})
		want := `
# HELP muster_load_expired_nodes Nodes whose figures are older than a profile believes.
# TYPE muster_load_expired_nodes gauge
muster_load_expired_nodes 1
# HELP muster_load_silent_nodes Nodes that the source knows and has never measured.
# TYPE muster_load_silent_nodes gauge
muster_load_silent_nodes 1
# HELP muster_load_usage_age_seconds Age of the figures of nodes that have any; quantile 1 is the oldest.
# TYPE muster_load_usage_age_seconds summary
muster_load_usage_age_seconds{quantile="0.5"} 60
muster_load_usage_age_seconds{quantile="0.99"} 60
muster_load_usage_age_seconds{quantile="1"} 180
muster_load_usage_age_seconds_sum 240
muster_load_usage_age_seconds_count 3
`
		if err := testutil.GatherAndCompare(k.registry, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
		ages := map[string]time.Duration{"n": time.Minute, "old": 3 * time.Minute, "ahead": 0, "silent": -1}
		if diff := cmp.Diff(ages, k.Ages()); diff != "" {
			t.Errorf("want (-) got (+):\n%s", diff)
		}
	}, 3*time.Minute)
}
