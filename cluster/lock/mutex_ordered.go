//go:build lockorder

package lock

import (
	"fmt"
	"slices"
	"sync"
)

// Mutex is a mutex with a rank, which panics when it is taken out of order. It must not be copied once it
// was used.
type Mutex struct {
	mu    sync.Mutex
	rank  Rank
	owner uint64 // the goroutine that holds it, guarded by held.mu
}

// New returns a mutex that is not locked.
func New(r Rank) Mutex { return Mutex{rank: r} }

// severalAtATime reports whether one goroutine may hold several locks of the rank: it takes them in an order of
// its own, and no two goroutines do so at a time.
func (r Rank) severalAtATime() bool { return r == Class }

// held are the ranks that goroutines hold.
var held = struct { //nolint:gochecknoglobals // what goroutines hold belongs to the process; it is there for tests only
	mu sync.Mutex
	by map[uint64][]Rank
}{by: map[uint64][]Rank{}}

// Lock locks the mutex, and waits until it can.
func (m *Mutex) Lock() {
	id := goroutine()
	m.check(id)
	m.mu.Lock()
	m.note(id)
}

// TryLock reports whether it could lock the mutex at once. It waits for nobody, so it is in no order.
func (m *Mutex) TryLock() bool {
	if !m.mu.TryLock() {
		return false
	}
	m.note(goroutine())
	return true
}

// Unlock unlocks the mutex.
func (m *Mutex) Unlock() {
	held.mu.Lock()
	ranks := held.by[m.owner]
	at := slices.Index(ranks, m.rank)
	if at < 0 {
		held.mu.Unlock()
		panic(fmt.Sprintf("lock: the %s is unlocked and was not locked", m.rank))
	}
	if held.by[m.owner] = slices.Delete(ranks, at, at+1); len(held.by[m.owner]) == 0 {
		delete(held.by, m.owner)
	}
	held.mu.Unlock()
	m.mu.Unlock()
}

// check panics if a goroutine holds a lock that has to be taken after this one.
func (m *Mutex) check(id uint64) {
	if m.rank == 0 {
		panic("lock: a mutex that New has not made")
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	for _, r := range held.by[id] {
		if r > m.rank || r == m.rank && !r.severalAtATime() {
			panic(fmt.Sprintf("lock: the %s is taken while the %s is held", m.rank, r))
		}
	}
}

func (m *Mutex) note(id uint64) {
	held.mu.Lock()
	defer held.mu.Unlock()
	m.owner = id
	held.by[id] = append(held.by[id], m.rank)
}
