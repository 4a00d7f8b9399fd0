package gangfaults

import (
	"context"
	"fmt"
	"time"

	"muster.dev/muster/e2e/faultcampaign"
)

// What keeps muster from knowing what is, or from doing in time what it decides.
const (
	musterFrozen  faultcampaign.Fault = "muster frozen"
	overtaken     faultcampaign.Fault = "old leader goes on after another one has taken over"
	watchHeldBack faultcampaign.Fault = "watch events late"
	apiServerSlow faultcampaign.Fault = "API server slow"
)

const (
	longestFreeze  = bindTimeout + 2*time.Second // longer than the scheduler waits
	longestHolding = 5 * time.Second
)

// addDelays puts in those faults. A muster that runs for election is not frozen for itself: it would end.
func (w *writer) addDelays(to *faultcampaign.Urn) {
	if w.setup.elects {
		to.Add(12, w.overtake)
	} else {
		to.Add(4, w.freeze)
	}
	to.Add(8, w.holdWatch)
	to.Add(6, w.slowServer)
}

// later notes that muster may know so late of something.
func (w *writer) later(by time.Duration) { w.behind += by }

func (w *writer) freeze() {
	at, moment := w.someTime(w.someGang())
	length := 200*time.Millisecond + w.within(2*time.Second)
	if w.rand.IntN(3) == 0 {
		length = bindTimeout + w.within(longestFreeze-bindTimeout)
	}
	w.later(length)
	w.add(event{at, moment, fmt.Sprintf("freeze muster for %s", length), musterFrozen, func(ctx context.Context, r *run) error {
		return r.lane.FreezeMuster(ctx, length)
	}})
}

// overtake has another muster lead while the leader is frozen or does not get at its lease. Then that one goes on,
// with the calls that wait there.
func (w *writer) overtake() {
	at, moment := w.someTime(w.someGang())
	frozen, alone := w.rand.IntN(2) == 0, w.within(time.Second)
	how := "is kept from its lease"
	if frozen {
		how = "is frozen"
	}
	w.later(leaseDuration + alone)
	w.add(event{at, moment, "have another muster take over while the leader " + how, overtaken, func(ctx context.Context, r *run) error {
		return r.lane.overtake(ctx, frozen, alone)
	}})
}

// holdWatch has what becomes of a kind of objects reach muster late, all at once.
func (w *writer) holdWatch() {
	at, moment := w.someTime(w.someGang())
	kind := []string{ofPods, ofPods, ofPodGroups, ofNodes}[w.rand.IntN(4)]
	length := 100*time.Millisecond + w.within(time.Second)
	if w.rand.IntN(4) == 0 {
		length = time.Second + w.within(longestHolding-time.Second)
	}
	w.later(length)
	w.add(event{
		at, moment, fmt.Sprintf("hold back what muster hears of %s for %s", kind, length), watchHeldBack,
		func(ctx context.Context, r *run) error {
			r.traffic.holdBack(ctx, kind, length)
			return nil
		},
	})
}

// slowServer has each call of muster's to the API server take longer, until nothing goes wrong any more.
func (w *writer) slowServer() {
	at, by := w.within(window/2), 50*time.Millisecond+w.within(150*time.Millisecond)
	w.add(event{at, moment{}, fmt.Sprintf("slow the API server by %s", by), apiServerSlow, func(_ context.Context, r *run) error {
		r.traffic.slowness.Store(int64(by))
		return nil
	}})
}
