package faultcampaign

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/history"
)

// Episode is a script and all that happens around it, from an empty cluster to an empty one: everything that the API
// server tells is observed from before the first write until after the last, what goes on beside the script goes on until
// the cluster has settled, and an error anywhere ends the episode. Fields that are not called optional are required.
type Episode struct {
	// Sources are what is followed.
	Sources []history.Source
	// Observe is told of every event of the sources, in their order.
	Observe func(watch.Event)
	// Prepare makes the cluster what it is at the beginning. Optional.
	Prepare func(context.Context) error
	// Beside are what goes on while the script is played. Each ends with its context, without an error.
	Beside []func(context.Context) error
	// Play plays the script, and returns when all is done.
	Play func(context.Context) error
	// Unsettled says, in words, what has to change yet after that, for at most Limit. Optional.
	Unsettled func() []string
	Limit     time.Duration
	// Over looks at the cluster before it is cleared. Optional.
	Over func(context.Context, Ending) error
	// Clear deletes everything, and returns when it is gone, as the sources tell. Events of the API server may stay.
	Clear func(ctx context.Context, gone func() bool) error
}

// present are the objects that there are. Its methods are safe for concurrent use.
type present struct {
	mu  sync.Mutex
	all map[types.UID]bool
}

func (p *present) observe(event watch.Event) {
	object, is := event.Object.(metav1.Object)
	if _, telling := event.Object.(*corev1.Event); !is || telling {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all[object.GetUID()] = true; event.Type == watch.Deleted {
		delete(p.all, object.GetUID())
	}
}

// none says that there is nothing.
func (p *present) none() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all) == 0
}

// Ending is how an episode ended.
type Ending struct {
	At      time.Time     // before anything was cleared
	Settled time.Duration // how long that took
	Because []string      // what had not settled at the limit
}

// Run runs an episode. It returns when the cluster is empty again, and nothing is observed any more.
func (e *Episode) Run(ctx context.Context) (Ending, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	there := present{all: map[types.UID]bool{}}
	stopWatching, err := history.Follow(ctx, e.Sources, func(event watch.Event) {
		e.Observe(event)
		there.observe(event)
	}, cancel)
	if err != nil {
		return Ending{}, err
	}
	defer stopWatching()
	if e.Prepare != nil {
		if err := e.Prepare(ctx); err != nil {
			return Ending{}, err
		}
	}
	ending, err := e.play(ctx)
	if err != nil {
		return ending, err
	}
	if e.Over != nil {
		if err := e.Over(ctx, ending); err != nil {
			return ending, err
		}
	}
	return ending, e.Clear(ctx, there.none)
}

// play plays the script with what goes on beside it, and lets the cluster settle.
func (e *Episode) play(ctx context.Context) (Ending, error) {
	background, stop := context.WithCancel(ctx)
	defer stop()
	beside, background := errgroup.WithContext(background)
	for _, each := range e.Beside {
		beside.Go(func() error { return each(background) })
	}
	var ending Ending
	err := e.Play(background)
	if err == nil && e.Unsettled != nil {
		ending.Settled, ending.Because, err = Settle(background, e.Limit, e.Unsettled)
	}
	ending.At = time.Now()
	stop()
	if failed := beside.Wait(); failed != nil && ctx.Err() == nil {
		err = failed
	}
	return ending, err
}

// Settle returns when there is nothing any more that has to change, or what there is at the limit.
func Settle(ctx context.Context, limit time.Duration, unsettled func() []string) (took time.Duration, because []string, err error) {
	began := time.Now()
	tick := time.NewTicker(Look)
	defer tick.Stop()
	for {
		because = unsettled()
		if took = time.Since(began); len(because) == 0 || took > limit {
			return took, because, nil
		}
		select {
		case <-ctx.Done():
			return took, nil, context.Cause(ctx)
		case <-tick.C:
		}
	}
}
