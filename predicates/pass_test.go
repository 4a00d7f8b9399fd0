package predicates

import (
	"sync"
	"testing"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/locktest"
)

func TestPassWaitsForEveryLockOfAStore(t *testing.T) {
	b := newStoreBench(t, 1<<30)
	var entries []*entry
	for controller := range 3 {
		view := b.store.View(cluster.NewPod(storePod(controller, 0)))
		entries = append(entries, view.entry)
		view.Close()
	}
	locks := map[string]sync.Locker{"that of trials": &b.store.trials, "its own": &b.store.mu}
	for _, e := range entries {
		locks["that of class "+b.store.hash(e.class)] = &e.mu
	}
	for name, lock := range locks {
		if !locktest.WaitsFor(lock, b.store.Pass) {
			t.Errorf("it returned while %s was taken", name)
		}
	}
}
