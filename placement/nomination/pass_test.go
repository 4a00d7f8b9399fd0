package nomination

import (
	"testing"

	"muster.dev/muster/cluster/locktest"
)

func TestPassWaitsForTheLock(t *testing.T) {
	x := &Nominator{}
	if !locktest.WaitsFor(&x.mu, x.Pass) {
		t.Error("it returned while the lock was taken")
	}
}
