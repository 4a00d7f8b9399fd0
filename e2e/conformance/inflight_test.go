package conformance

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"muster.dev/muster/api/config"
)

// stepsOfAnInterleaving is how many there are of one seed.
const stepsOfAnInterleaving = 100

// A tenth of CONFORMANCE_CASES is how many bindings are judged. What is nominated when is up to chance, so the seed of an
// interleaving in which muster nominates tells only what the cluster and the pods are.
func TestNoBindingIsAgainstKubeSchedulersFilters(t *testing.T) {
	c := begin(t)
	judge, wanted := c.judge, size(t, "CONFORMANCE_CASES", 12_000, 60_000)/10
	cases, refused := map[Mode]int{}, map[Mode]int{}
	c.hear(wanted, func(seed uint64) error {
		interleaving := interleave(t, seed)
		cases[interleaving.Mode] += len(interleaving.Bindings)
		refused[interleaving.Mode] += interleaving.Refused
		for _, binding := range interleaving.Bindings {
			if err := judge.HearBinding(t.Context(), binding); err != nil {
				return err
			}
		}
		return nil
	})
	fmt.Printf("figure inflight_cases=%d\n", judge.Cases)
	fmt.Printf("figure inflight_conflicts=%d\n", judge.Disagreements)
	for _, mode := range Modes() {
		t.Logf("%v: %d bindings, %d refused", mode, cases[mode], refused[mode])
		known := c.expects() && mode.Selection != config.NodeSelectionNominate
		if known && wanted >= 1000 && (cases[mode] < wanted/20 || refused[mode] == 0) {
			t.Errorf("%v has %d bindings of %d, and %d refused: too few", mode, cases[mode], judge.Cases, refused[mode])
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
