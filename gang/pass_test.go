package gang

import (
	"testing"

	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/cluster/locktest"
)

func TestPassWaitsForTheLock(t *testing.T) {
	x := &Manager{machine: &machine{mu: lock.New(lock.Gangs)}}
	if !locktest.WaitsFor(&x.mu, x.Pass) {
		t.Error("it returned while the lock was taken")
	}
}
