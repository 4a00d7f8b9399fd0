// Package canary finds locks that are not given back. A process whose verbs wait for such a lock answers
// whatever does not need it, /livez included, and would go on like that for ever.
//
// A [Canary] goes through every lock that verbs take, again and again: it takes each and gives it back,
// and does nothing in between. One that does not come through in time is told of at /livez. Each lock
// has at most one canary in it, in a goroutine of its own, so that a stuck lock costs one goroutine and
// hides no other.
package canary

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// every is the time between two looks.
const every = time.Second

// Lock is one that verbs take.
type Lock struct {
	// Name is for people and metrics, and stands for the lock.
	Name string
	// Verbs are the verbs that stand still with it, for people to read.
	Verbs string
	// Pass returns once the lock was free.
	Pass func()
}

// Options of a Canary. All are required.
type Options struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Clock      clock.WithTicker
	// Locks are all that there are now.
	Locks func() []Lock
	// Patience is how long a lock may be taken by others: longer than any of them has it in good order.
	Patience time.Duration
}

// Canary watches over locks while it runs. Its methods are safe for concurrent use.
type Canary struct {
	log      *slog.Logger
	clock    clock.WithTicker
	locks    func() []Lock
	patience time.Duration
	waiting  *prometheus.GaugeVec

	passes map[string]*pass // by lock; only look uses it
	stuck  atomic.Pointer[error]
}

// pass is one on its way through a lock.
type pass struct {
	lock Lock
	done chan struct{}
	// waited is the time that the process has run meanwhile: the time while a machine or a process stands
	// still does not count.
	waited time.Duration
	told   bool
}

// New returns a Canary that does nothing until it is run.
func New(o Options) *Canary {
	c := &Canary{
		log: o.Logger, clock: o.Clock, locks: o.Locks, patience: o.Patience, passes: map[string]*pass{},
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_lock_wait_seconds",
			Help: "For how long a lock that verbs take has not been free, 0 when it is. /livez fails when that is too long.",
		}, []string{"lock"}),
	}
	o.Registerer.MustRegister(c.waiting)
	return c
}

// Run watches until the context ends.
func (c *Canary) Run(ctx context.Context) {
	tick := c.clock.NewTicker(every)
	defer tick.Stop()
	for {
		c.look()
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		}
	}
}

// Stuck is nil while all locks are given back in time. It never waits.
func (c *Canary) Stuck() error {
	if err := c.stuck.Load(); err != nil {
		return *err
	}
	return nil
}

// look sees who has come through since the last look, and sends out the canaries that are not under way.
func (c *Canary) look() {
	var stuck []string
	for _, name := range slices.Sorted(maps.Keys(c.passes)) {
		p := c.passes[name]
		select {
		case <-p.done:
			delete(c.passes, name)
			if p.told {
				c.log.Info("a lock is free again", "lock", name, "took", p.waited)
			}
			c.waiting.DeleteLabelValues(name) // unless it is there still
			continue
		default:
		}
		p.waited += every
		c.waiting.WithLabelValues(name).Set(p.waited.Seconds())
		if p.waited < c.patience {
			continue
		}
		stuck = append(stuck, fmt.Sprintf("the lock of %s, which %s take, has not been free for %s", name, p.lock.Verbs, p.waited))
		if !p.told {
			p.told = true
			c.log.Error("a lock is stuck", "lock", name, "took", p.waited)
		}
	}
	for _, lock := range c.locks() {
		if c.passes[lock.Name] == nil {
			c.waiting.WithLabelValues(lock.Name).Set(0)
			c.send(lock)
		}
	}
	if len(stuck) == 0 {
		c.stuck.Store(nil)
		return
	}
	err := fmt.Errorf("%s", strings.Join(stuck, "; "))
	c.stuck.Store(&err)
}

// send has one more pass a lock.
func (c *Canary) send(lock Lock) {
	p := &pass{lock: lock, done: make(chan struct{})}
	c.passes[lock.Name] = p
	go func() {
		defer close(p.done)
		lock.Pass()
	}()
}
