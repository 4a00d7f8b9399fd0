package gang

import (
	"testing"

	"muster.dev/muster/cluster/locktest"
)

func TestPassWaitsForTheLock(t *testing.T) {
	x := &Manager{}
	if !locktest.WaitsFor(&x.mu, x.Pass) {
		t.Error("it returned while the lock was taken")
	}
}
