package evictions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
)

// Eviction is one that a plan has asked for, and that may have been granted.
type Eviction struct {
	Pod        types.UID
	Plan       types.UID
	Controller types.UID // "" when the pod has none
	Node       string    // that the pod is to leave
	// Budgets are the names of those that it counts for, besides the one of all.
	Budgets []string
	// Differs says that what came in the place of the pod was of another kind, and did not fit.
	Differs bool
	// At is when it was last asked for, by this process's clock.
	At time.Time
}

// Options of a Record. All are required.
type Options struct {
	Logger *slog.Logger
	Clock  clock.PassiveClock
	Store  Store
	// Keeps is how long an eviction is to be known.
	Keeps func(Eviction) time.Duration
}

// Record is what this process knows of evictions. Evictions and Ready are safe for concurrent use. Everything else is
// for one goroutine, of the process that leads.
type Record struct {
	Options

	evictions atomic.Pointer[[]Eviction] // immutable; nil as long as nothing was read
	version   string                     // of what is stored; "" when nothing is
	current   bool                       // what is stored is known
	unsaved   bool                       // what is known is not stored
	struck    sets.Set[types.UID]        // pods of evictions that may be stored still
	told      string                     // the last error, until it is well again
}

// ErrUnread says that it is not known what was evicted.
var ErrUnread = errors.New("the record of evictions has not been read")

// New returns a Record that knows nothing before it is read.
func New(o Options) *Record { return &Record{Options: o, struck: sets.New[types.UID]()} }

// Ready says that it is known what was evicted.
func (l *Record) Ready() bool { return l.evictions.Load() != nil }

// Evictions are all that are known. Nobody may change them.
func (l *Record) Evictions() []Eviction {
	if known := l.evictions.Load(); known != nil {
		return *known
	}
	return nil
}

// Sync reads what is stored, unless that is known, and stores what could not be stored before. It is to be called every
// so often.
func (l *Record) Sync(ctx context.Context) {
	if err := l.read(ctx); err != nil {
		if l.isNew(err) {
			l.Logger.Warn("cannot read what was evicted: nothing is evicted meanwhile", "err", err)
		}
		return
	}
	if l.unsaved {
		l.keep(ctx, l.Evictions())
	}
}

// read takes in what is stored. What this process knows besides stays: somebody may have deleted the object.
func (l *Record) read(ctx context.Context) error {
	if l.current {
		return nil
	}
	text, version, err := l.Store.Load(ctx)
	if err != nil {
		return err
	}
	stored, err := decode(text, l.Clock.Now())
	if err != nil {
		return err
	}
	known := l.Evictions()
	l.unsaved = len(known) > 0 || len(l.struck) > 0
	for i := range stored {
		if pod := stored[i].Pod; at(known, pod) < 0 && !l.struck.Has(pod) {
			known = append(slices.Clip(known), stored[i])
		}
	}
	l.version, l.current, l.told = version, true, ""
	l.evictions.Store(&known)
	return nil
}

// Note writes down an eviction that is about to be asked for. When that fails it must not be.
func (l *Record) Note(ctx context.Context, e Eviction) error {
	if err := l.read(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnread, err)
	}
	next := slices.Clone(l.Evictions())
	l.struck.Delete(e.Pod)
	if i := at(next, e.Pod); i >= 0 {
		next[i] = e
	} else {
		next = append(next, e)
	}
	return l.save(ctx, next)
}

// Strike takes out the eviction of a pod that is known to stay.
func (l *Record) Strike(ctx context.Context, pod types.UID) {
	if at(l.Evictions(), pod) >= 0 {
		l.struck.Insert(pod)
		l.keep(ctx, slices.DeleteFunc(slices.Clone(l.Evictions()), func(e Eviction) bool { return e.Pod == pod }))
	}
}

// Differs notes that what came in the place of a pod was of another kind, and did not fit.
func (l *Record) Differs(ctx context.Context, pod types.UID) {
	if i := at(l.Evictions(), pod); i >= 0 {
		next := slices.Clone(l.Evictions())
		next[i].Differs = true
		l.keep(ctx, next)
	}
}

// keep has evictions known from now on, and stored: later if not now.
func (l *Record) keep(ctx context.Context, next []Eviction) {
	l.unsaved = true
	l.evictions.Store(&next)
	if err := l.save(ctx, next); err != nil && l.isNew(err) {
		l.Logger.Warn("cannot store what was evicted: it is tried again", "err", err)
	}
}

// isNew reports whether an error is another one than the last time: what fails may be tried every second.
func (l *Record) isNew(err error) bool {
	before := l.told
	l.told = err.Error()
	return l.told != before
}

// save stores evictions, but for those that nobody needs to know any more. When it returns nil they are known.
func (l *Record) save(ctx context.Context, next []Eviction) error {
	now := l.Clock.Now()
	next = slices.DeleteFunc(slices.Clone(next), func(e Eviction) bool { return now.Sub(e.At) >= l.Keeps(e) })
	text, err := encode(next, now)
	if err != nil {
		return err
	}
	version, err := l.Store.Save(ctx, text, l.version)
	if err != nil {
		l.current = false // somebody else may have written, or the answer was lost
		return err
	}
	l.version, l.unsaved, l.told = version, false, ""
	l.struck.Clear()
	l.evictions.Store(&next)
	return nil
}

// at is where the eviction of a pod is, -1 when it is not there.
func at(evictions []Eviction, pod types.UID) int {
	return slices.IndexFunc(evictions, func(e Eviction) bool { return e.Pod == pod })
}
