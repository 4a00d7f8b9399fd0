package extender

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// flown is a bind call under way in a test.
type flown struct {
	leave func()
	done  bool
	err   error
}

// fly makes a bind call that lasts until it may land or its caller leaves. It counts as begun
// when it is not joined to another one.
func fly(t *testing.T, f *flights, node string, begun *int, land <-chan error) *flown {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	call := &flown{leave: leave}
	go func() {
		call.err = f.do(ctx, "uid", node, func() error {
			*begun++
			select {
			case err := <-land:
				return err
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		call.done = true
	}()
	synctest.Wait()
	return call
}

func TestABindCallJoinsTheOneThatLasts(t *testing.T) {
	boom := errors.New("boom")
	for name, want := range map[string]error{"that succeeds": nil, "that fails": boom} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, begun, land := newFlights(), 0, make(chan error)
				first := fly(t, f, "a", &begun, land)
				second := fly(t, f, "a", &begun, land)
				elsewhere := fly(t, f, "b", &begun, land)
				if !elsewhere.done || elsewhere.err == nil {
					t.Errorf("the call for another node has ended: %t, with error %v", elsewhere.done, elsewhere.err)
				}
				if first.done || second.done || begun != 1 {
					t.Fatalf("the first call has ended: %t, the second: %t, %d have begun", first.done, second.done, begun)
				}
				land <- want
				synctest.Wait()
				if !first.done || !second.done || !errors.Is(first.err, want) || !errors.Is(second.err, want) {
					t.Errorf("errors %v and %v, want %v", first.err, second.err, want)
				}
				third := fly(t, f, "b", &begun, land)
				land <- nil
				synctest.Wait()
				if !third.done || third.err != nil || begun != 2 {
					t.Errorf("a call afterwards has ended: %t, with error %v, and %d have begun", third.done, third.err, begun)
				}
				for _, call := range []*flown{first, second, elsewhere, third} {
					call.leave()
				}
			})
		})
	}
}

func TestABindCallFollowsOneWhoseCallerHasLeft(t *testing.T) {
	for _, node := range []string{"a", "b"} {
		synctest.Test(t, func(t *testing.T) {
			f, begun, land := newFlights(), 0, make(chan error)
			first := fly(t, f, "a", &begun, nil)
			second := &flown{leave: func() {}}
			if node == "a" { // it joins, and goes on by itself
				second = fly(t, f, node, &begun, land)
			}
			first.leave()
			if node == "b" {
				second = fly(t, f, node, &begun, land)
			}
			synctest.Wait()
			land <- nil
			synctest.Wait()
			if !first.done || !errors.Is(first.err, context.Canceled) || !second.done || second.err != nil || begun != 2 {
				t.Errorf("for node %s: errors %v and %v, %d have begun", node, first.err, second.err, begun)
			}
			second.leave()
		})
	}
}

// TestABindCallThatPanicsIsNoSuccess has a second call wait for the one that panics.
func TestABindCallThatPanicsIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, land := newFlights(), make(chan struct{})
		recovered := make(chan any)
		go func() {
			defer func() { recovered <- recover() }()
			_ = f.do(t.Context(), "uid", "a", func() error {
				<-land
				panic("boom")
			})
		}()
		synctest.Wait()
		second := fly(t, f, "a", new(int), nil)
		close(land)
		if got := <-recovered; got != "boom" {
			t.Errorf("the panic became %v", got)
		}
		synctest.Wait()
		if !second.done || !errors.Is(second.err, errPanicked) {
			t.Errorf("the second call has ended: %t, with error %v", second.done, second.err)
		}
		second.leave()
	})
}
