package gangfaults

import (
	"context"
	"fmt"
	"io"
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/muster"
)

// Gangs that ask for a large part of a cluster which small pods keep busy: muster books room in time for them.

const (
	// reserveAfter is how long a gang waits before room is booked for it.
	reserveAfter = time.Second
	// bookedWindow is how long things happen in a run with room in time: a gang waits first, and has its booking then.
	bookedWindow = 8 * time.Second
	// filled is after what time small pods fill the cluster.
	filled = 1500 * time.Millisecond
)

const (
	gangDeleted   faultcampaign.Fault = "gang deleted"
	gangShrunk    faultcampaign.Fault = "gang shrunk"
	gangTooLarge  faultcampaign.Fault = "gang that no room may be booked for"
	gangHopeless  faultcampaign.Fault = "large gang with a member that the scheduler refuses"
	musterStandby faultcampaign.Fault = "another muster stands by"
)

// BookingCampaign is Campaign on a cluster that small pods keep busy, with gangs that ask for a fifth to a half of it.
func BookingCampaign() faultcampaign.Campaign {
	books := &books{}
	return faultcampaign.Campaign{
		Name: "booking", Target: "faults-gang KIND=booking",
		Counts: []string{
			gangsFigure, wholeFigure, bookingsFigure, endsFigure, passedFigure,
			repairedFigure, gatedFigure, bindingsFigure, evictedFigure, vainFigure, vigilsFigure,
		},
		Figures: books.figures,
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return (&lane{program: muster, write: writeBooking, books: books}).open(ctx, dir, progress)
		},
	}
}

// bookingSetupOf returns the setup of a seed.
func bookingSetupOf(seed uint64) setup {
	s := setupOf(seed)
	s.booking = true
	return s
}

// writeBooking draws the script of a seed, for a scheduler that calls muster.
func writeBooking(seed uint64) *script {
	w := newWriter(seed, bookingSetupOf(seed))
	room := int64(len(w.nodes)) * coresOfANode * 1000
	w.small = small{seed: seed, load: room * int64(95+w.rand.IntN(16)) / 100, liars: w.rand.IntN(3) == 0}
	if w.rand.IntN(3) == 0 {
		w.small.slow = int(room * 55 / 100 / 1000)
	}
	for range 1 + w.rand.IntN(3) {
		w.addLarge(room * int64(20+w.rand.IntN(31)) / 100)
	}
	w.addBookingFaults()
	return w.finished()
}

// addLarge has a gang come that asks for a number of thousandths of a core, and whose members end some seconds after they run.
func (w *writer) addLarge(asks int64) *gang {
	g := w.drawGang("")
	g.priority, g.asks, g.lax, g.replaced = "", 0, false, false
	if g.match != v1alpha1.MatchOnceSatisfied {
		g.match = ""
	}
	g.milliCPU = []int64{500, 1000, 2000}[w.rand.IntN(3)]
	g.minMember = max(2, int(asks/g.milliCPU))
	g.replicas = g.minMember + w.rand.IntN(2)
	g.runs = 2*time.Second + w.within(3*time.Second)
	w.addLate(g)
	return g
}

// addLate has a gang come once small pods fill the cluster.
func (w *writer) addLate(g *gang) {
	first, later := len(w.events), filled+w.within(window)
	w.addEvents(g)
	for i := range w.events[first:] {
		w.events[first+i].at += later
	}
}

// addBookingFaults draws from three to eight, by their weights.
func (w *writer) addBookingFaults() {
	var all faultcampaign.Urn
	all.Add(3, w.killScheduler)
	all.Add(8, w.killMuster)
	all.Add(4, w.killMusterAtCommit)
	all.Add(1, w.killBoth)
	all.Add(6, w.deleteMember)
	all.Add(6, w.editMinMember)
	all.Add(4, w.deletePodGroup)
	all.Add(4, w.delayPodGroup)
	all.Add(8, w.loseNode)
	all.Add(6, w.cordonNode)
	all.Add(6, func() { w.addPod(urgent, urgentPod) })
	all.Add(4, w.addCompetitor)
	all.Add(3, w.stickMember)
	all.Add(10, w.deleteGang)
	all.Add(10, w.shrinkGang)
	all.Add(5, w.addTooLarge)
	all.Add(5, w.addHopeless)
	if w.setup.elects {
		all.Add(20, w.standBy)
	}
	w.addDelays(&all)
	w.addCallFaults(&all)
	for range 3 + w.rand.IntN(6) {
		all.Draw(w.rand)
	}
}

// addTooLarge has a gang come that asks for more than half of the cluster: no room is booked for it, and nobody has to wait for it.
func (w *writer) addTooLarge() {
	first := len(w.events)
	w.addLarge(int64(len(w.nodes)) * coresOfANode * 1000 * int64(60+w.rand.IntN(60)) / 100)
	w.events[first].fault = gangTooLarge
}

// addHopeless has a large gang come that has room once, and that the scheduler does not let start.
func (w *writer) addHopeless() {
	if w.refusing {
		return
	}
	w.refusing = true
	first := len(w.events)
	g := w.addLarge(int64(len(w.nodes)) * coresOfANode * 1000 * int64(20+w.rand.IntN(31)) / 100)
	g.replicas, g.timeout = g.minMember, refusedTimeout
	if g.label == v1alpha1.LabelMuster {
		g.label = v1alpha1.LabelX
	}
	g.refused = []int{w.rand.IntN(g.replicas)}
	w.events = w.events[:first]
	w.addLate(g)
	w.events[first].fault = gangHopeless
}

// deleteGang has all of a gang go.
func (w *writer) deleteGang() {
	g := w.someGang()
	at, moment := w.someTime(g)
	object := g.podGroup()
	w.add(event{at, moment, "delete gang " + g.name, gangDeleted, func(ctx context.Context, r *run) error {
		if object != nil {
			if err := r.deletePodGroup(ctx, object); err != nil {
				return err
			}
		}
		return r.deleteMembers(ctx, g, 0)
	}})
}

// shrinkGang has half of a gang go. One with an object asks for no more then.
func (w *writer) shrinkGang() {
	g := w.someGang()
	at, moment := w.someTime(g)
	object, left := g.podGroup(), max(1, g.minMember/2)
	w.add(event{at, moment, fmt.Sprintf("shrink gang %s to %d", g.name, left), gangShrunk, func(ctx context.Context, r *run) error {
		if err := r.deleteMembers(ctx, g, left); err != nil || object == nil {
			return err
		}
		return r.editMinMember(ctx, object, left)
	}})
}

// deleteMembers deletes the members of a gang but the first ones.
func (r *run) deleteMembers(ctx context.Context, g *gang, left int) error {
	for i := left; i < g.replicas; i++ {
		if err := r.lane.DeletePod(ctx, memberName(g.name, i)); err != nil {
			return err
		}
	}
	return nil
}

// standBy has another muster run for election while one leads.
func (w *writer) standBy() {
	at, moment := w.someTime(w.someGang())
	w.add(event{at, moment, "have another muster stand by", musterStandby, func(ctx context.Context, r *run) error {
		return r.lane.standBy(ctx, r.looks.stoodBy)
	}})
}

const (
	// besideLooks is how often a muster is looked at that stands by, each some time after the one before.
	besideLooks, besideApart = 20, 4 * faultcampaign.Look
)

// standBy has another muster run for election, and look see it, until it is gone again.
func (l *lane) standBy(ctx context.Context, look func(muster.RoomInTime)) error {
	l.overtaking.Lock()
	defer l.overtaking.Unlock()
	l.Killing.Lock()
	defer l.Killing.Unlock()
	other, err := muster.Launch(ctx, l.options(l.seats[1-l.seat]))
	if err != nil {
		return err
	}
	for range besideLooks {
		faultcampaign.Pause(ctx, besideApart)
		if room, err := other.RoomInTime(ctx); err == nil { // else it has not begun yet
			look(room)
		}
	}
	return other.Crash()
}

// drawBooked draws whether an event of a gang's life comes while room is booked for it, as most do.
func (w *writer) drawBooked() bool { return w.setup.booking && w.rand.IntN(4) > 0 }
