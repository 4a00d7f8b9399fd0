package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
)

// stepsOfAnInterleaving is how many there are of one seed.
const stepsOfAnInterleaving = 100

// A tenth of CONFORMANCE_CASES is how many bindings are judged. CONFORMANCE_SEED is the first interleaving's seed, the
// next one's is one more.
func TestNoBindingIsAgainstKubeSchedulersFilters(t *testing.T) {
	wanted := int(fromEnvironment(t, "CONFORMANCE_CASES", 50_000) / 10)
	seed := fromEnvironment(t, "CONFORMANCE_SEED", rand.Uint64())
	judge := newJudge(t)
	cases, refused := map[Mode]int{}, map[Mode]int{}
	judged, conflicts := 0, 0
	for ; judged < wanted && conflicts < remembered; seed++ {
		interleaving := interleave(t, seed)
		refused[interleaving.Mode] += interleaving.Refused
		for _, binding := range interleaving.Bindings {
			conflict, err := judge.Conflict(t.Context(), binding)
			if err != nil {
				t.Fatalf("CONFORMANCE_SEED=%d: %v", seed, err)
			}
			judged++
			cases[binding.Mode]++
			if conflict != nil {
				conflicts++
				t.Errorf("CONFORMANCE_SEED=%d: %v", seed, conflict)
				break
			}
		}
	}
	fmt.Printf("figure inflight_cases=%d\n", judged)
	fmt.Printf("figure inflight_conflicts=%d\n", conflicts)
	for _, mode := range Modes() {
		t.Logf("%v: %d bindings, %d refused", mode, cases[mode], refused[mode])
		if judged >= 1000 && conflicts == 0 && (cases[mode] < judged/20 || refused[mode] == 0) {
			t.Errorf("%v has %d bindings of %d, and %d refused", mode, cases[mode], judged, refused[mode])
		}
	}
}

// interleave makes all steps of an interleaving.
func interleave(t *testing.T, seed uint64) *Interleaving {
	t.Helper()
	var interleaving *Interleaving
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var err error
		if interleaving, err = NewInterleaving(ctx, seed); err != nil {
			t.Fatalf("CONFORMANCE_SEED=%d: %v", seed, err)
		}
		for range stepsOfAnInterleaving {
			if err := interleaving.Step(); err != nil {
				t.Fatalf("CONFORMANCE_SEED=%d: %v", seed, err)
			}
			synctest.Wait()
		}
	})
	return interleaving
}
