// Package locktest helps tests of functions that wait for a lock, such as the functions that a canary calls.
package locktest

import (
	"runtime"
	"sync"
)

// WaitsFor reports whether a function returns, and not before a lock is free.
func WaitsFor(lock sync.Locker, pass func()) bool {
	lock.Lock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		pass()
	}()
	early := false
	for range 1000 {
		runtime.Gosched()
		select {
		case <-done:
			early = true
		default:
		}
	}
	lock.Unlock()
	<-done
	return !early
}
