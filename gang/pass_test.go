package gang

import (
	"testing"

	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/cluster/locktest"
)

func TestPassWaitsForTheLock(t *testing.T) {
	m := &machine{mu: lock.New(lock.Gangs)}
	if !locktest.WaitsFor(&m.mu, (&Verbs{machine: m}).Pass) {
		t.Error("it returned while the lock was taken")
	}
}
