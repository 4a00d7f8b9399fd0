package backfill_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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
}

func (h *heldBack) Report() []core.Summary {
	return []core.Summary{{Name: "default/g", Account: core.Account{Lacking: 1, Ready: 1}, Since: h.member.CreationTimestamp.Time}}
}

func (h *heldBack) Outlook(_ membership.Key, ends []runtimes.End, _ bool) (gang.Outlook, bool) {
	found := gang.Outlook{Prospect: gang.Prospect{Found: 1, Wanted: 1, Snapshot: h.Snapshot()}, Places: []placement.Place{{Pod: h.member}}}
	if h.waits.Load() {
		found.Ends = ends
	}
	return found, true
}

func (h *heldBack) Book(*reservation.Booking) {}

func TestRoomIsKeptForAWhileOnlyForAGangThatDoesNotStart(t *testing.T) {
	run(t, 0, func(w *world) {
		none := func(int) {}
		w.Nodes(4, 2)
		h := &heldBack{Cluster: w.Cluster, member: cluster.NewPod(simulation.Pod("g-0", 0))}
		h.waits.Store(true)
		w.Queue(simulation.Pod("first", 20*time.Second))
		b := backfill.New(backfill.Options{
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Cluster: w.Cluster,
			Gangs: h, Room: h, History: w.History, After: time.Second, Profiles: predicates.NewProfiles(),
		})
		ctx, cancel := context.WithCancel(w.Context())
		ended := make(chan struct{})
		go func() { b.Run(ctx); close(ended) }()
		defer func() { cancel(); <-ended }()
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
