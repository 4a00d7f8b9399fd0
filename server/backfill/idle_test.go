package backfill_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/simulation"
)

// heldBack is a gang of one pod that has room once another pod has ended, and does not start.
type heldBack struct {
	*cluster.Cluster
	member *cluster.Pod
	waits  atomic.Bool
	away   atomic.Bool // a node without which it has no room
}

func (h *heldBack) Report() []core.Summary {
	return []core.Summary{{Name: "default/g", Account: core.Account{Lacking: 1, Ready: 1}, Since: h.member.CreationTimestamp.Time}}
}

func (h *heldBack) Outlook(_ membership.Key, ends []runtimes.End, _ bool) (gang.Outlook, bool) {
	<-time.After(time.Millisecond) // a search takes a moment
	found := gang.Outlook{Prospect: gang.Prospect{Found: 1, Wanted: 1, Snapshot: h.Snapshot()}, Places: []placement.Place{{Pod: h.member}}}
	if h.waits.Load() {
		found.Ends = ends
	}
	if h.away.Load() {
		found.Found = 0
	}
	return found, true
}

func (h *heldBack) Book(*reservation.Booking) {}

func (h *heldBack) booker(w *world, registry *prometheus.Registry) *backfill.Booker {
	return backfill.New(backfill.Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: registry, Clock: clock.RealClock{}, Cluster: w.Cluster,
		Gangs: h, Room: h, History: w.History, After: time.Second, Profiles: predicates.NewProfiles(),
	})
}

// lead runs a Booker until somebody calls stop.
func (w *world) lead(b *backfill.Booker) (stop func()) {
	ctx, cancel := context.WithCancel(w.Context())
	ended := make(chan struct{})
	go func() { b.Run(ctx); close(ended) }()
	return func() { cancel(); <-ended }
}

func TestRoomIsKeptForAWhileOnlyForAGangThatDoesNotStart(t *testing.T) {
	run(t, 0, func(w *world) {
		none := func(int) {}
		w.Nodes(4, 2)
		h := &heldBack{Cluster: w.Cluster, member: cluster.NewPod(simulation.Pod("g-0", 0))}
		h.waits.Store(true)
		w.Queue(simulation.Pod("first", 20*time.Second))
		b := h.booker(w, prometheus.NewRegistry())
		defer w.lead(b)()
		for second := range 200 {
			h.waits.Store(second < 20)
			w.Pass(1, none, func(*corev1.Pod) time.Duration { return time.Hour })
			switch booked := b.Booked().Pods; {
			case second >= 10 && second < 40 && booked != 1:
				t.Errorf("after %d s room is booked for %d pods, want 1", second, booked)
			case second >= 90 && booked > 0:
				t.Errorf("%d s after it is free room is booked for %d pods", second-20, booked)
			}
		}
	})
}

// A node that is away for a moment leaves it without room at one look.
func TestAGangWithoutRoomForAMomentHasItBookedAgain(t *testing.T) {
	run(t, 0, func(w *world) {
		w.Nodes(4, 2)
		h := &heldBack{Cluster: w.Cluster, member: cluster.NewPod(simulation.Pod("g-0", 0))}
		h.waits.Store(true)
		w.Queue(simulation.Pod("first", time.Minute))
		b := h.booker(w, prometheus.NewRegistry())
		defer w.lead(b)()
		change := func(second int) { w.Queue(simulation.Pod(fmt.Sprint("small-", second), time.Second)) }
		runs := func(p *corev1.Pod) time.Duration {
			if p.Name == "first" {
				return time.Minute
			}
			return time.Second
		}
		lost := 0
		for second := range 40 {
			h.away.Store(second == 10 || second >= 20)
			w.Pass(1, change, runs)
			if booked := b.Booked().Pods; second >= 5 && booked == 0 {
				lost++
			}
			if second == 19 && lost > 2 {
				t.Errorf("a gang that had no room for a second has had none booked for %d", lost)
			}
		}
		if lost < 18 {
			t.Errorf("a gang without room for 20 s has had none booked for %d s alone", lost)
		}
	})
}

// Of two replicas, both would tell of the same namespace otherwise: one of now, and one of when it led.
func TestWhoNoLongerLeadsTellsOfNoIdleRoom(t *testing.T) {
	run(t, 0, func(w *world) {
		w.Nodes(4, 2)
		h := &heldBack{Cluster: w.Cluster, member: cluster.NewPod(simulation.Pod("g-0", 0))}
		h.waits.Store(true)
		w.Queue(simulation.Pod("first", time.Hour))
		registry := prometheus.NewRegistry()
		b := h.booker(w, registry)
		for range 2 { // it leads again
			stop := w.lead(b)
			w.Pass(20, func(int) {}, func(*corev1.Pod) time.Duration { return time.Hour })
			if got := tells(t, registry); got != 1 {
				t.Errorf("while it leads it tells of %d namespaces, want 1", got)
			}
			stop()
			if got := tells(t, registry); got != 0 {
				t.Errorf("afterwards it tells of %d namespaces", got)
			}
		}
	})
}

// tells returns of how many namespaces idle room is told.
func tells(t *testing.T, registry *prometheus.Registry) int {
	t.Helper()
	count, err := testutil.GatherAndCount(registry, "muster_booked_idle_share")
	if err != nil {
		t.Fatal(err)
	}
	return count
}
