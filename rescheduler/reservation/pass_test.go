package reservation

import (
	"testing"

	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/cluster/locktest"
)

func TestPassWaitsForTheLock(t *testing.T) {
	x := &Keeper{mu: lock.New(lock.Reservations)}
	if !locktest.WaitsFor(&x.mu, x.Pass) {
		t.Error("it returned while the lock was taken")
	}
}
