//go:build !lockorder

package lock

import "sync"

// Mutex is a mutex with a rank. It must not be copied once it was used.
type Mutex struct{ mu sync.Mutex }

// New returns a mutex that is not locked.
func New(Rank) Mutex { return Mutex{} }

// Lock locks the mutex, and waits until it can.
func (m *Mutex) Lock() { m.mu.Lock() }

// TryLock reports whether it could lock the mutex at once.
func (m *Mutex) TryLock() bool { return m.mu.TryLock() }

// Unlock unlocks the mutex.
func (m *Mutex) Unlock() { m.mu.Unlock() }
