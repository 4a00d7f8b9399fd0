package backfill

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
)

// promises are the first forecasts for gangs with a booking, held against when they start. Nobody acts on them. They are safe
// for concurrent use.
type promises struct {
	ratio prometheus.Histogram

	mu sync.Mutex
	of map[membership.Key]promise
}

// promise is that a gang starts by a time in nine of ten cases, zero if nothing was promised.
type promise struct{ made, by time.Time }

// mostPromises is of how many gangs the forecasts are kept. Gangs beyond that are not counted.
const mostPromises = 1000

func newPromises(registerer prometheus.Registerer) *promises {
	p := &promises{
		ratio: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_forecast_ratio",
			Help: "How long gangs waited once room was booked for them, as a share of the wait that was forecast then of nine in ten: " +
				"more than 1 for a gang that started later.",
			Buckets: []float64{0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 4, 8},
		}),
		of: map[membership.Key]promise{},
	}
	registerer.MustRegister(p.ratio)
	return p
}

// made reports whether there is a forecast for a gang, or no room for one.
func (p *promises) made(key membership.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, made := p.of[key]
	return made || len(p.of) >= mostPromises
}

// make keeps the forecast for a gang.
func (p *promises) make(key membership.Key, made, by time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[key] = promise{made, by}
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
		case promised.by.After(promised.made):
			p.ratio.Observe(now.Sub(promised.made).Seconds() / promised.by.Sub(promised.made).Seconds())
		}
	}
	p.of = waiting
}

// promise forecasts when a gang with a booking starts, unless somebody else is told a forecast just now.
func (b *Booker) promise(key membership.Key) {
	if !b.forecasting.TryLock() {
		return
	}
	defer b.forecasting.Unlock()
	all := b.report()
	if at := slices.IndexFunc(all, func(s core.Summary) bool { return keyOf(&s) == key }); at >= 0 {
		now := b.clock.Now()
		b.promises.make(key, now, b.forecast(&all[at]).By)
	}
}
