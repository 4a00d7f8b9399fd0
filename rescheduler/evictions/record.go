// Package evictions remembers what plans of the rescheduler have evicted, for longer than plans exist: deleting
// a ReschedulingPlan frees no rate and ends no cool-down.
//
// An eviction is written down before it is asked for. It is struck out when it is known that the pod stays. The record
// is a ConfigMap, which the leader alone writes; a process that begins to lead reads it first, and evicts nobody before.
//
// The record has ages, and no times; the leader stores them again every minute. A process that reads one goes
// on from there by its own clock, so that no two machines' clocks are compared. While nobody leads, and for the
// last minute of a leader, no eviction gets older: that allows too few evictions rather than too many.
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
	// Budgets are the names of the budgets that it counts for, besides the budget of all.
	Budgets []string
	// Differs says that what came in the place of the pod was of another kind, and did not fit.
	Differs bool
	// At is when it was last asked for, by this process's clock.
	At time.Time
}

// Options of a Record. All but ReadOnly are required.
type Options struct {
	Logger *slog.Logger
	Clock  clock.PassiveClock
	Store  Store
	// Remembers is how long an eviction is to be known.
	Remembers func(Eviction) time.Duration
	// ReadOnly says that nothing is stored, as nobody is evicted.
	ReadOnly bool
}

// Record is this process's knowledge of evictions. Evictions and Ready are safe for concurrent use. Everything
// else is for one goroutine, of the process that leads.
type Record struct {
	Options

	evictions atomic.Pointer[[]Eviction] // immutable; nil as long as nothing was read
	version   string                     // of what is stored; "" when nothing is
	current   bool                       // what is stored is known
	unsaved   bool                       // what is known is not stored
	struck    sets.Set[types.UID]        // pods that stay, as may not be stored yet
	differ    sets.Set[types.UID]        // pods whose replacements differ, likewise
	due       time.Time                  // of the next look at what is stored
	trouble   string                     // the last time, "" when there was none
}

const (
	// refresh is how often ages are stored: as much of them is lost with a process.
	refresh = time.Minute
	// retry is how long after a failure it is tried again.
	retry = 5 * time.Second
)

// ErrUnread says that it is not known what was evicted.
var ErrUnread = errors.New("the record of evictions has not been read")

// New returns a Record that knows nothing before it is read.
func New(o Options) *Record {
	return &Record{Options: o, struck: sets.New[types.UID](), differ: sets.New[types.UID]()}
}

// Ready reports whether the past evictions are known.
func (r *Record) Ready() bool { return r.evictions.Load() != nil }

// Evictions returns all that are known. Nobody may change them.
func (r *Record) Evictions() []Eviction {
	if known := r.evictions.Load(); known != nil {
		return *known
	}
	return nil
}

// Sync reads what is stored, unless that is known, and stores what is known if that is another thing, or older by now.
// It is to be called every second or so, and does something when it is time.
func (r *Record) Sync(ctx context.Context) {
	now := r.Clock.Now()
	if now.Before(r.due) {
		return
	}
	r.due = now.Add(refresh)
	err := r.read(ctx)
	if err == nil && !r.ReadOnly && (r.unsaved || len(r.Evictions()) > 0) {
		err = r.save(ctx, r.Evictions())
	}
	if err == nil {
		r.trouble = ""
		return
	}
	r.due = now.Add(retry)
	if err.Error() != r.trouble {
		r.trouble = err.Error()
		r.Logger.Warn("cannot keep the record of evictions: nothing is evicted while it cannot be read or written", "err", err)
	}
}

// Note writes down an eviction that is about to be asked for. When that fails it must not be.
func (r *Record) Note(ctx context.Context, e Eviction) error {
	if err := r.read(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrUnread, err)
	}
	next := slices.Clone(r.Evictions())
	r.struck.Delete(e.Pod)
	if i := at(next, e.Pod); i >= 0 {
		next[i] = e
	} else {
		next = append(next, e)
	}
	return r.save(ctx, next)
}

// Strike takes out the eviction of a pod that is known to stay.
func (r *Record) Strike(ctx context.Context, pod types.UID) { r.amend(ctx, r.struck, pod) }

// Differs notes that what came in the place of a pod was of another kind, and did not fit.
func (r *Record) Differs(ctx context.Context, pod types.UID) { r.amend(ctx, r.differ, pod) }

// amend takes note of something about the eviction of a pod, and stores it: later if not now.
func (r *Record) amend(ctx context.Context, of sets.Set[types.UID], pod types.UID) {
	if r.Ready() && at(r.Evictions(), pod) < 0 {
		return
	}
	of.Insert(pod)
	if r.Ready() {
		r.know(slices.Clone(r.Evictions()))
	}
	r.unsaved, r.due = true, time.Time{}
	r.Sync(ctx)
}

// know has evictions known from now on, with what was noted about them. They are r's from then on.
func (r *Record) know(all []Eviction) {
	all = slices.DeleteFunc(all, func(e Eviction) bool { return r.struck.Has(e.Pod) })
	for i := range all {
		all[i].Differs = all[i].Differs || r.differ.Has(all[i].Pod)
	}
	r.evictions.Store(&all)
}

// read takes in the stored evictions. Others that this process knows stay: somebody may have deleted the
// object.
func (r *Record) read(ctx context.Context) error {
	if r.current {
		return nil
	}
	text, version, err := r.Store.Load(ctx)
	if err != nil {
		return err
	}
	stored, err := decode(text, r.Clock.Now())
	if err != nil {
		return err
	}
	all := slices.Clone(r.Evictions())
	r.unsaved = len(all)+len(r.struck)+len(r.differ) > 0
	for i := range stored {
		if at(all, stored[i].Pod) < 0 {
			all = append(all, stored[i])
		}
	}
	r.version, r.current = version, true
	r.know(all)
	return nil
}

// save stores evictions, except the ones that nobody needs to know any more. When it returns nil they are
// known.
func (r *Record) save(ctx context.Context, next []Eviction) error {
	now := r.Clock.Now()
	next = slices.DeleteFunc(slices.Clone(next), func(e Eviction) bool { return now.Sub(e.At) >= r.Remembers(e) })
	text, err := encode(next, now)
	if err != nil {
		return err
	}
	version, err := r.Store.Save(ctx, text, r.version)
	if err != nil {
		r.current = false // somebody else may have written, or the answer was lost
		return err
	}
	r.version, r.unsaved = version, false
	r.struck.Clear()
	r.differ.Clear()
	r.evictions.Store(&next)
	return nil
}

// at returns where the eviction of a pod is, -1 when it is not there.
func at(evictions []Eviction, pod types.UID) int {
	return slices.IndexFunc(evictions, func(e Eviction) bool { return e.Pod == pod })
}
