package gang

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
)

// benched is a Manager of its own on a cluster of 1,000 nodes, with gangs of a size that nobody has planned.
func benched(b *testing.B, gangs, size int) (*Manager, *cluster.Cluster, [][]*cluster.Pod) {
	b.Helper()
	cfg := config.Default()
	cfg.Profiles[0].Equivalence = config.EquivalenceTemplate
	profile, err := predicates.NewProfile(&cfg.Profiles[0])
	if err != nil {
		b.Fatal(err)
	}
	registry, log, now := prometheus.NewRegistry(), slog.New(slog.DiscardHandler), clock.RealClock{}
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	limits := DefaultLimits(time.Hour, 5*time.Second, time.Hour)
	limits.MaxHolding, limits.Few = 0, 1<<30
	m := New(Options{
		Logger: log, Registerer: registry, Clock: now, Cluster: c,
		Writer:   nomination.NewWriter(log, registry, now, nomination.DefaultWriteLimits(500)),
		Recorder: written{}, Epoch: func() record.Epoch { return record.Epoch{} }, Limits: limits,
		Profiles:     predicates.NewProfiles(predicates.NewVerdictStore(profile, c, 1<<30, predicates.NewStoreMetrics(registry), now)),
		Reservations: noPlans{},
	})
	m.Follow()
	for i := range 1000 {
		if err := c.Set(node(fmt.Sprint("node-", i), "64")); err != nil {
			b.Fatal(err)
		}
	}
	var all [][]*cluster.Pod
	for i := range gangs {
		name := fmt.Sprint("g", i)
		c.SetCustom(v1alpha1.ResourceOf(v1alpha1.GroupX), podGroup(name, int64(size)))
		var pods []*cluster.Pod
		for _, pod := range members(name, size, "1") {
			if err := c.Set(pod); err != nil {
				b.Fatal(err)
			}
			pods = append(pods, c.PendingPod(pod.UID))
		}
		all = append(all, pods)
	}
	m.Verbs.Filter(all[0][0], 1000) // it has heard of all
	b.Cleanup(func() {
		for _, pods := range all {
			for _, pod := range pods {
				c.Release(pod.UID)
			}
		}
	})
	return m, c, all
}

// written records starts at once.
type written struct{}

func (written) Write(context.Context, *unstructured.Unstructured, record.Record) error { return nil }

// BenchmarkFilter is a filter call about a member that has a place, one about a pod of no gang, and one
// that plans a gang of 8, in a cluster of 1,000 nodes with 100 gangs.
func BenchmarkFilter(b *testing.B) {
	b.Run("placed", func(b *testing.B) {
		m, _, gangs := benched(b, 100, 8)
		b.ReportAllocs()
		for b.Loop() {
			if d := m.Verbs.Filter(gangs[0][1], 1000); !d.Member {
				b.Fatalf("%+v", d)
			}
		}
	})
	b.Run("no gang", func(b *testing.B) {
		m, c, _ := benched(b, 100, 8)
		pod := members("alone", 1, "1", func(pod *corev1.Pod) { pod.Labels = nil })[0]
		if err := c.Set(pod); err != nil {
			b.Fatal(err)
		}
		known := c.PendingPod(pod.UID)
		b.ReportAllocs()
		for b.Loop() {
			if d := m.Verbs.Filter(known, 1000); d.Reason != "" {
				b.Fatalf("%+v", d)
			}
		}
	})
	b.Run("plans", func(b *testing.B) {
		m, _, gangs := benched(b, 100, 8)
		b.ReportAllocs()
		for b.Loop() {
			if d := m.Verbs.Filter(gangs[0][0], 1000); !d.Member {
				b.Fatalf("%+v", d)
			}
			m.Verbs.Refused(gangs[0][0], false)
		}
	})
}

// BenchmarkPermit makes the calls for all of a gang of 8, or of 1,000: filter and bind. The last call lets all
// go. Then they fail to be bound.
func BenchmarkPermit(b *testing.B) {
	for _, size := range []int{8, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { permitAll(b, size) })
	}
}

func permitAll(b *testing.B, size int) {
	b.Helper()
	m, c, gangs := benched(b, 1, size)
	b.ReportAllocs()
	for b.Loop() {
		var holds []*hold
		for _, pod := range gangs[0] {
			d := m.Verbs.Filter(pod, 1000)
			if !d.Member {
				b.Fatalf("%+v", d)
			}
			h, err := m.Verbs.hold(pod.UID, d.Node)
			if err != nil {
				b.Fatal(err)
			}
			holds = append(holds, h)
		}
		for i, pod := range gangs[0] {
			if <-holds[i].done; holds[i].err != nil {
				b.Fatal(holds[i].err)
			}
			c.Release(pod.UID)
			m.Verbs.Bound(pod.UID, context.Canceled)
		}
	}
}

// BenchmarkPlanAhead is one pass over 100 gangs that have places.
func BenchmarkPlanAhead(b *testing.B) {
	m, _, gangs := benched(b, 100, 8)
	for _, pods := range gangs {
		m.Verbs.Filter(pods[0], 1000)
	}
	b.ReportAllocs()
	for b.Loop() {
		m.ahead.plan()
		m.expire()
		m.Observer.Member(types.UID("g0-0"))
	}
}
