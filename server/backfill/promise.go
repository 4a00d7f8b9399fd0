package backfill

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement/runtimes"
)

// promises are the first forecasts for gangs with a booking, held against when they start. Nobody acts on them. They are safe
// for concurrent use.
type promises struct {
	ratio prometheus.Histogram

	mu   sync.Mutex
	of   map[membership.Key]promise
	past map[string][]float64 // by namespace, the last waits as parts of the waits by the lots
}

// promise is a forecast for one gang. The times are zero where nothing could be promised.
type promise struct {
	made time.Time
	by   time.Time // when the gang has started in nine of ten cases
	lots time.Time // the same as far as draws tell: the last one of nine
}

const (
	// mostPromises is of how many gangs the forecasts are kept, and from how many namespaces it is learned. Gangs beyond that are
	// not counted.
	mostPromises = 1000
	// mostPast is how many former forecasts are learned from, and leastPast how many it takes: the last of nine covers nine in ten.
	mostPast  = 32
	leastPast = 9
	// unproven is by how much longer waits are taken for than draws say until then.
	unproven = 1.5
	// shortest is the shortest wait by lots that is learned from: of less, seconds are a large part.
	shortest = 30 * time.Second
	// starting is how long a gang takes to start once it has room: until it is planned, and kube-scheduler has bound it.
	starting = 5 * time.Second
)

func newPromises(registerer prometheus.Registerer) *promises {
	p := &promises{
		ratio: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_forecast_ratio",
			Help: "How long gangs waited once room was booked for them, as a share of the wait that was forecast then of nine in ten: " +
				"more than 1 for a gang that started later.",
			Buckets: []float64{0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 4, 8},
		}),
		of: map[membership.Key]promise{}, past: map[string][]float64{},
	}
	registerer.MustRegister(p.ratio)
	return p
}

// by returns by when a gang starts in nine of ten cases, by the last of nine draws: later or sooner, as former starts came later or sooner
// than their draws. Draws know neither of pods that go before and take longer, nor of gangs that come later and go first. All that is
// drawn is the same where the ends are certain. Only starts in the same namespace count: a tenant could have gangs start early or late.
func (p *promises) by(namespace string, now, lots time.Time, certain bool) time.Time {
	p.mu.Lock()
	past := slices.Sorted(slices.Values(p.past[namespace]))
	p.mu.Unlock()
	factor := 1.0
	switch {
	case len(past) >= leastPast:
		factor = runtimes.NineOfTen(past)
	case !certain:
		factor = unproven
	}
	return now.Add(time.Duration(factor * float64(lots.Sub(now)))).Add(starting)
}

// forget forgets what was promised, and nothing that was learned.
func (p *promises) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.of)
}

// made reports whether there is a forecast for a gang, or no room for one.
func (p *promises) made(key membership.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, made := p.of[key]
	return made || len(p.of) >= mostPromises
}

// make keeps the forecast for a gang.
func (p *promises) make(key membership.Key, promised promise) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[key] = promised
}

// hold holds what was forecast against how far the gangs are.
func (p *promises) hold(gangs []core.Summary, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.of) == 0 {
		return
	}
	waiting := make(map[membership.Key]promise, len(p.of))
	for i := range gangs {
		key := keyOf(&gangs[i])
		switch promised, made := p.of[key]; {
		case !made:
		case !gangs[i].Started:
			waiting[key] = promised
		case promised.lots.After(promised.made):
			waited, lots := now.Sub(promised.made), promised.lots.Sub(promised.made)
			p.ratio.Observe(waited.Seconds() / promised.by.Sub(promised.made).Seconds())
			if lots >= shortest {
				p.learn(key.Namespace, ratio(waited, lots))
			}
		}
	}
	p.of = waiting
}

// learn keeps how long a gang of a namespace waited.
func (p *promises) learn(namespace string, ratio float64) {
	past, known := p.past[namespace]
	if !known && len(p.past) >= mostPromises {
		return
	}
	past = append(past, ratio)
	p.past[namespace] = past[max(0, len(past)-mostPast):]
}

// ratio returns how long a gang waited for its room, as a part of the wait by the lots. The time that a start takes is no error of
// theirs: it does not grow with the wait.
func ratio(waited, lots time.Duration) float64 {
	if waited > lots {
		waited = max(lots, waited-starting)
	}
	return waited.Seconds() / lots.Seconds()
}

// promise forecasts when a gang with a booking starts, unless that is being done.
func (b *Booker) promise(key membership.Key) {
	if !b.promising.TryLock() {
		return
	}
	defer b.promising.Unlock()
	all := b.report()
	if at := slices.IndexFunc(all, func(s core.Summary) bool { return keyOf(&s) == key }); at >= 0 {
		now, f := b.clock.Now(), b.forecast(&all[at])
		b.promises.make(key, promise{made: now, by: f.By, lots: f.lots})
	}
}
