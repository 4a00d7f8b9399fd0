package gang

import (
	"testing"

	"muster.dev/muster/cluster/locktest"
)

func TestPassWaitsForTheLock(t *testing.T) {
	x := &Manager{machine: &machine{}}
	if !locktest.WaitsFor(&x.mu, x.Pass) {
		t.Error("it returned while the lock was taken")
	}
}
