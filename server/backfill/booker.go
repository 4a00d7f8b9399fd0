package backfill

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

// Options of a Booker. All that say nothing else are required.
type Options struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Clock      clock.WithTicker
	Cluster    *cluster.Cluster
	Gangs      Gangs
	Room       Room
	History    *runtimes.History
	// After is how long a gang waits before room is booked for it, 0 for ever, where the profile of its pods does not say.
	After    time.Duration
	Profiles *predicates.Profiles
	// MaxIdle is the share of all nodes that bookings for gangs of one namespace may keep idle on average over an hour, 0 for no limit.
	// Once they have, it gets none until the average is down to half.
	MaxIdle float64
	// Tell has people told whether room is booked for gangs, and why not: of all gangs about which there is something to say. It may be nil.
	Tell func(map[membership.Key]status.Booking)
}

// Gangs tells of gangs, as a [gang.Observer] does.
type Gangs interface {
	Report() []core.Summary
	Outlook(key membership.Key, ends []runtimes.End, over bool) (gang.Outlook, bool)
}

// Room is where room is booked, as by a [reservation.Keeper].
type Room interface {
	Book(*reservation.Booking)
}

// Booker books room for the gang that has waited for longest, and forecasts when gangs start. It is safe for concurrent use.
type Booker struct {
	log     *slog.Logger
	clock   clock.WithTicker
	cluster *cluster.Cluster
	gangs   Gangs
	room    Room
	tell    func(map[membership.Key]status.Booking)
	waits   patience
	stamps  *runtimes.Clock
	history *runtimes.History
	booked  *prometheus.GaugeVec
	idle    *prometheus.CounterVec

	// Only Run uses these. A booking is made again from next on, and at due at the latest. The last look saw a generation and gangs that
	// waited.
	next, due time.Time
	seen      uint64
	looked    time.Time
	waited    []membership.Key
	vain      map[membership.Key]time.Time // until when others have the turn of gangs that can have no booking
	costs     costs
	notices   notices

	last        atomic.Pointer[inForce]
	promises    *promises
	forecasting sync.Mutex // of somebody who asks
	promising   sync.Mutex
}

// Booked is for whom room is booked, the zero value for nobody.
type Booked struct {
	Key  membership.Key
	Pods int       // that have to start together
	From time.Time // on the clock of this process
}

// inForce is a booking that is in force, and for whom; nil and the zero value for nobody.
type inForce struct {
	Booked
	booking *reservation.Booking
}

// New returns a Booker that books nothing until it is run.
func New(o Options) *Booker {
	b := &Booker{
		log: o.Logger, clock: o.Clock, cluster: o.Cluster, gangs: o.Gangs, room: o.Room, tell: o.Tell,
		waits: patience{after: o.After, profiles: o.Profiles}, notices: newNotices(),
		stamps: runtimes.NewClock(o.Clock), history: o.History, promises: newPromises(o.Registerer),
		booked: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_booked_pods",
			Help: "Pods of the gang for which room is booked that have to start together, by its namespace; none without a booking.",
		}, []string{"namespace"}),
		idle: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_booked_idle_pod_seconds_total",
			Help: "Seconds for which a node had room for a pod and kept it for the gang for which it is booked, over all such pods, " +
				"by the namespace of the gang: what bookings cost.",
		}, []string{"namespace"}),
	}
	b.costs = costs{
		most: o.MaxIdle, of: map[string]float64{}, barred: map[string]bool{},
		share: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_booked_idle_share",
			Help: "Share of all nodes, from 0 to 1, that bookings for gangs of a namespace have kept idle on average: a time that lies an hour " +
				"back counts half. With gangs.reserveMaxIdlePercent of it a namespace gets no booking until it is down to half of that.",
		}, []string{"namespace"}),
	}
	if b.tell == nil {
		b.tell = func(map[membership.Key]status.Booking) {}
	}
	b.last.Store(&inForce{})
	o.Registerer.MustRegister(b.booked, b.idle, b.costs.share)
	return b
}

const (
	// tick is how often it is looked whether anything has changed.
	tick = time.Second
	// atLeast is how often a booking is made again though nothing has changed.
	atLeast = 30 * time.Second
	// rest is how many times as long as it took to make a booking none is made.
	rest = 10
)

// Run books room until the context ends. The view of the cluster must be complete, and no other process may be running one.
func (b *Booker) Run(ctx context.Context) {
	var forecasting sync.WaitGroup
	defer forecasting.Wait()
	defer b.costs.forget()
	defer b.book(&inForce{})
	b.next, b.due, b.looked, b.waited, b.vain = time.Time{}, time.Time{}, b.clock.Now(), nil, nil
	b.notices = newNotices()
	b.tell(nil)
	b.promises.forget()
	runtimes.See(b.cluster.Snapshot(), b.stamps, b.history) // after a restart, how long gangs have waited
	ticker := b.clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if b.look(); b.notices.due(b.clock.Now()) {
				b.tell(b.notices.all())
			}
			if booked := b.Booked(); booked.Pods > 0 && !b.promises.made(booked.Key) {
				forecasting.Go(func() { b.promise(booked.Key) })
			}
		}
	}
}

// Once books room as Run does when it begins, for a view that does not change. It is not for a Booker that runs.
func (b *Booker) Once() {
	if !b.waits.books() {
		return
	}
	snap := b.cluster.Snapshot()
	runtimes.See(snap, b.stamps, b.history)
	next, _ := b.make(b.waiting(b.report()), snap)
	b.book(next)
}

// Enabled waits until room is booked for gangs of any profile that is in force. It reports false if the context ends before.
func (b *Booker) Enabled(ctx context.Context) bool {
	ticker := b.clock.NewTicker(tick)
	defer ticker.Stop()
	for !b.waits.books() {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C():
		}
	}
	return true
}

// Booked returns for whom room is booked.
func (b *Booker) Booked() Booked { return b.last.Load().Booked }

// look books room for the gang whose turn it is, if the cluster has changed or it is time.
func (b *Booker) look() {
	if !b.waits.books() {
		if b.Booked().Pods > 0 {
			b.book(&inForce{})
		}
		b.notices.keep(nil)
		return
	}
	now, snap, gangs := b.clock.Now(), b.cluster.Snapshot(), b.report()
	b.promises.hold(gangs, now)
	b.count(snap, now)
	if now.Before(b.next) {
		return
	}
	waiting := slices.DeleteFunc(b.waiting(gangs), func(key membership.Key) bool { return b.costs.barred[key.Namespace] })
	b.notices.keep(waiting)
	if snap.Generation == b.seen && now.Before(b.due) && slices.Equal(waiting, b.waited) {
		return
	}
	next, more := b.make(waiting, snap)
	b.seen, b.due, b.waited = snap.Generation, now.Add(atLeast), waiting
	if more {
		b.due = now
	}
	b.book(next)
	b.next = now.Add(rest * b.clock.Since(now))
}

const (
	// mostTried is for how many gangs places are sought in one go.
	mostTried = 3
	// mostVain is how many gangs of a namespace are tried in vain before it leaves turns to others: half of all that are tried within
	// atLeast.
	mostVain = mostTried * int(atLeast/tick) / 2
)

// make returns the booking for the first of some gangs that can have one, nil for none, and whether more of them have their turn next. A
// gang that cannot makes way for the next ones for a while, and costs no gang behind it the booking that it has. The gang that had the
// booking is tried once more before it does: a node that is away for a moment costs it no more than that moment.
func (b *Booker) make(waiting []membership.Key, snap *cluster.Snapshot) (next *inForce, more bool) {
	now, vain := b.clock.Now(), map[membership.Key]time.Time{}
	defer func() { b.vain = vain }()
	if len(waiting) == 0 {
		return &inForce{}, false
	}
	ends := runtimes.See(snap, b.stamps, b.history)
	tried := 0
	for _, key := range b.turns(waiting, now, vain) {
		if tried >= mostTried && key != b.Booked().Key { // which keeps its booking while others are tried in vain
			more = true
			continue
		}
		outlook, ok := b.gangs.Outlook(key, ends.Of, true)
		if !ok {
			continue
		}
		tried++
		booked := Booked{Key: key, Pods: len(outlook.Places), From: b.from(key, &outlook, now)}
		not := whyNot(&outlook, &ends)
		if not == "" && now.Sub(booked.From) >= mostIdle {
			not = "it has room, and something else keeps it from starting"
		}
		if not == "" {
			b.notices.booked(key, booked.From, bookedWords(&booked, &outlook, now))
			return &inForce{booked, b.booking(&booked, &outlook, &ends.Estimates)}, more
		}
		b.notices.not(key, not)
		if key != b.Booked().Key {
			vain[key] = now.Add(atLeast)
		}
	}
	return &inForce{}, more
}

// turns returns the gangs whose turn it is, the first one first, and enters the others into vain. Many gangs of one namespace that were
// tried in vain have its others come last.
func (b *Booker) turns(waiting []membership.Key, now time.Time, vain map[membership.Key]time.Time) (turns []membership.Key) {
	inVain := map[string]int{}
	for _, key := range waiting {
		if until := b.vain[key]; now.Before(until) {
			vain[key] = until
			inVain[key.Namespace]++
		} else {
			turns = append(turns, key)
		}
	}
	slices.SortStableFunc(turns, func(a, b membership.Key) int {
		return cmp.Compare(inVain[a.Namespace]/mostVain, inVain[b.Namespace]/mostVain)
	})
	return turns
}

// mostIdle is how long room is kept for a gang that has room and does not start: something else holds it back.
const mostIdle = 30 * time.Second

// from returns when a gang has its places, on the clock of this process: with nothing to wait for it has had them since its booking was
// due, or for as long as nobody books room for it.
func (b *Booker) from(key membership.Key, outlook *gang.Outlook, now time.Time) time.Time {
	switch last := b.Booked(); {
	case len(outlook.Ends) > 0:
		return b.stamps.Here(outlook.Ends[len(outlook.Ends)-1].At)
	case last.Key != key:
		return now.Add(-mostIdle)
	case last.From.Before(now):
		return last.From
	default:
		return now
	}
}

func (b *Booker) booking(booked *Booked, outlook *gang.Outlook, estimates *runtimes.Estimates) *reservation.Booking {
	gangs, expected := outlook.Gangs, *estimates // and nothing else of these is kept
	booking := &reservation.Booking{
		Priority: outlook.Priority, From: booked.From, Pods: map[string][]*cluster.Pod{}, Ending: sets.New[types.UID](),
		Runtime: expected.Of,
		Own: func(pod *cluster.Pod) bool {
			key, member := membership.Of(pod)
			return member && slices.Contains(gangs, key)
		},
	}
	for _, place := range outlook.Places {
		node := outlook.Snapshot.Node(place.Node).Name
		booking.Pods[node] = append(booking.Pods[node], place.Pod)
	}
	for _, end := range outlook.Ends {
		if booking.Pods[end.Node.Name] != nil {
			booking.Ending.Insert(end.Pod.UID)
		}
	}
	return booking
}

// book has a booking be in force, and says so when it is for another gang than the one before.
func (b *Booker) book(next *inForce) {
	before := b.last.Swap(next)
	b.room.Book(next.booking)
	b.notices.only(next.Key)
	b.booked.Reset()
	if next.booking != nil {
		b.booked.WithLabelValues(next.Key.Namespace).Set(float64(next.Pods))
	}
	switch {
	case before.Key == next.Key:
		return
	case next.booking == nil:
		b.log.Info("no room is booked any more", slog.String("gang", before.Key.String()))
		return
	}
	b.log.Info("room is booked for a gang that has waited for long", slog.String("gang", next.Key.String()),
		slog.Int("pods", next.Pods), slog.Time("from", next.From))
}

// report returns how far all gangs are. The clock sees their stamps.
func (b *Booker) report() []core.Summary {
	all := b.gangs.Report()
	for i := range all {
		b.stamps.See(all[i].Since)
	}
	return all
}

// waiting returns the gangs that have waited for long enough, the first one by priority and age first.
func (b *Booker) waiting(all []core.Summary) (keys []membership.Key) {
	waiting := slices.DeleteFunc(all, func(s core.Summary) bool {
		return s.Lacking == 0 || s.Short() > 0 || s.Since.IsZero() || b.stamps.Now().Sub(s.Since) < b.waits.of(&s)
	})
	slices.SortStableFunc(waiting, func(a, b core.Summary) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name))
	})
	for i := range waiting {
		keys = append(keys, keyOf(&waiting[i]))
	}
	return keys
}

func keyOf(s *core.Summary) membership.Key {
	namespace, name, _ := strings.Cut(s.Name, "/")
	return membership.Key{Label: s.Label, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}
