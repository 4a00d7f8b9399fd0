package extender

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRequestsKeepPace(t *testing.T) {
	const all = 3 * mostAtOnce
	for name, test := range map[string]struct {
		takes time.Duration
		after time.Duration
		most  int64 // that are made at a time until then
		done  int64
	}{
		"few at a time": {takes: 50 * time.Millisecond, after: 125 * time.Millisecond, most: mostAtOnce, done: 2 * mostAtOnce},
		"others begin though the answers are late": {takes: time.Minute, after: 2*patience + time.Millisecond, most: all},
		"not before that":                          {takes: time.Minute, after: patience - time.Millisecond, most: mostAtOnce},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPace()
				var now, most, done atomic.Int64
				for range all {
					go func() {
						_ = p.keep(t.Context(), func() error {
							most.Store(max(most.Load(), now.Add(1)))
							<-time.After(test.takes)
							now.Add(-1)
							done.Add(1)
							return nil
						})
					}()
				}
				<-time.After(test.after)
				synctest.Wait()
				if most.Load() != test.most || done.Load() != test.done {
					t.Errorf("at most %d at a time, want %d; %d done, want %d", most.Load(), test.most, done.Load(), test.done)
				}
				<-time.After(time.Hour)
				synctest.Wait()
				if done.Load() != all || len(p.slots) != 0 {
					t.Errorf("%d done in the end, want %d; %d are still counted", done.Load(), all, len(p.slots))
				}
			})
		})
	}
}

func TestARequestWhoseTimeIsOverIsNotMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		for range mostAtOnce {
			go func() { _ = p.keep(t.Context(), func() error { <-time.After(patience / 2); return nil }) }()
		}
		synctest.Wait()
		over := errors.New("over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), patience/4, over)
		defer cancel()
		err := p.keep(ctx, func() error { t.Error("it is made"); return nil })
		if !errors.Is(err, over) {
			t.Errorf("error %v, want %v", err, over)
		}
		if err := p.keep(t.Context(), func() error { return over }); !errors.Is(err, over) {
			t.Errorf("error %v, want that of the request", err)
		}
	})
}
