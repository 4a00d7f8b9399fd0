//go:build lockorder

package lock

import (
	"runtime"
	"strings"
	"sync"
	"testing"
)

// panics returns the value that a function panics with, "" when it does not.
func panics(f func()) (with string) {
	defer func() {
		if p := recover(); p != nil {
			with, _ = p.(string)
		}
	}()
	f()
	return ""
}

func TestLocksAreTakenInTheirOrder(t *testing.T) {
	for first := Gangs; first <= Inbox; first++ {
		for second := Gangs; second <= Inbox; second++ {
			a, b := New(first), New(second)
			a.Lock()
			got := panics(b.Lock)
			if inOrder := first < second || first == second && first == Class; inOrder != (got == "") {
				t.Errorf("the %s while the %s is held: %q", second, first, got)
			}
			if got == "" {
				b.Unlock()
			}
			a.Unlock()
		}
	}
}

func TestWhatAnotherGoroutineHoldsIsInNobodysWay(t *testing.T) {
	view, gangs := New(View), New(Gangs)
	view.Lock()
	done := make(chan string)
	go func() {
		done <- panics(func() {
			gangs.Lock()
			gangs.Unlock() //nolint:staticcheck // to have held it is all
		})
	}()
	if got := <-done; got != "" {
		t.Error(got)
	}
	view.Unlock()
	gangs.Lock()
	gangs.Unlock() //nolint:staticcheck // as above
}

func TestALockThatWasOnlyTriedIsHeld(t *testing.T) {
	view, gangs := New(View), New(Gangs)
	if !view.TryLock() || view.TryLock() {
		t.Error("a lock was not taken when it was free, or was when it was not")
	}
	if got := panics(gangs.Lock); !strings.Contains(got, "view") {
		t.Errorf("the gangs' lock while the view's is held: %q", got)
	}
	view.Unlock()
}

func TestAMutexThatNewHasNotMadeIsRefused(t *testing.T) {
	if got := panics(new(Mutex).Lock); !strings.Contains(got, "New") {
		t.Errorf("panic %q", got)
	}
	view := New(View)
	if got := panics(view.Unlock); !strings.Contains(got, "was not locked") {
		t.Errorf("panic %q", got)
	}
}

func TestAGoroutineIsKnownByItsNumber(t *testing.T) {
	if numbered < 0 && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64") {
		t.Error("the runtime keeps the number where it was not looked for: tests that take locks are slow")
	}
	var looking sync.WaitGroup
	for range 100 {
		looking.Go(func() {
			if got, want := goroutine(), told(); got != want {
				t.Errorf("goroutine %d is taken for %d", want, got)
			}
		})
	}
	looking.Wait()
}
