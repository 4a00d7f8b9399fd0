package conformance

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/lab"
)

// changesOfAHistory is how often the cluster of one seed changes.
const changesOfAHistory = 150

// STALE_CHECKS is how many remembered verdicts of a class on a node are compared with fresh ones.
func TestWhatIsRememberedIsNeverStaleWhateverChanges(t *testing.T) {
	c := begin(t)
	wanted, checks, found := size(t, "STALE_CHECKS", 500_000, 2_500_000), 0, 0
	for seed := c.seed; checks < wanted && found == 0; seed++ {
		history := newHistory(t, seed)
		for range changesOfAHistory {
			if err := history.Change(); err != nil {
				t.Fatalf("CONFORMANCE_SEED=%d: %v\n%s", seed, err, history.Events())
			}
			compared, stale := history.Compare()
			checks += compared
			if found = len(stale); found > 0 {
				t.Errorf("CONFORMANCE_SEED=%d: %s\nafter\n%s", seed, stale[0], history.Events())
				break
			}
		}
	}
	fmt.Printf("figure stale_checks=%d\n", checks)
	fmt.Printf("figure stale_verdicts=%d\n", found)
}

// Which change a view comes after is up to chance here, so the seed tells only what the cluster and the pods are.
func TestWhatIsRememberedIsNeverStaleWhileOthersAskAndTheClusterChanges(t *testing.T) {
	c := begin(t)
	wanted := int64(size(t, "STALE_CHECKS", 500_000, 2_500_000) / 3)
	var checks, found atomic.Int64
	for seed := c.seed; checks.Load() < wanted && found.Load() == 0; seed++ {
		history := newHistory(t, seed)
		var asking sync.WaitGroup
		var over atomic.Bool
		for asker := range 3 {
			asking.Go(func() {
				s := newSource(seed + uint64(asker))
				for last := false; !last; {
					last = over.Load() // then once more, for a machine on which all the changes came first
					compared, stale := compare(s, history.store, one(s, one(s, history.classes...)...))
					checks.Add(int64(compared))
					if found.Add(int64(len(stale))); len(stale) > 0 {
						t.Errorf("CONFORMANCE_SEED=%d: %s", seed, stale[0])
						return
					}
				}
			})
		}
		for range changesOfAHistory {
			if err := history.Change(); err != nil {
				t.Errorf("CONFORMANCE_SEED=%d: %v", seed, err)
				break
			}
		}
		over.Store(true)
		asking.Wait()
	}
	fmt.Printf("figure stale_checks_concurrent=%d\n", checks.Load())
	fmt.Printf("figure stale_verdicts_concurrent=%d\n", found.Load())
}

func TestWhatIsRememberedIsNotStaleWhenTheJournalForgot(t *testing.T) {
	lab.Long(t)
	t.Parallel()
	const replayed = 1 << 17 // changes at most
	for seed := range uint64(3) {
		history := newHistory(t, seed)
		compare := func() {
			for range askedClasses {
				if _, stale := history.Compare(); len(stale) > 0 {
					t.Fatalf("seed %d: %s", seed, stale[0])
				}
			}
		}
		compare()
		for range changesOfAHistory {
			if err := history.Change(); err != nil {
				t.Fatal(err)
			}
		}
		cordoned := history.cluster.Snapshot().NodeByName(slices.Sorted(maps.Keys(history.nodes))[0])
		for i := range replayed {
			node := *cordoned.Node
			node.Spec.Unschedulable = i%2 == 0
			if err := history.cluster.Set(&node); err != nil {
				t.Fatal(err)
			}
		}
		compare()
	}
}

func TestTheSameSeedMakesTheSameHistory(t *testing.T) {
	t.Parallel()
	var events []string
	for _, seed := range []uint64{7, 7, 8} {
		history := newHistory(t, seed)
		for range 2 * keptEvents {
			if err := history.Change(); err != nil {
				t.Fatal(err)
			}
			history.Compare()
		}
		events = append(events, history.Events())
	}
	if diff := cmp.Diff(events[0], events[1]); diff != "" {
		t.Error(diff)
	}
	if events[0] == events[2] {
		t.Error("another seed makes the same")
	}
}

func newHistory(t *testing.T, seed uint64) *History {
	t.Helper()
	history, err := NewHistory(seed)
	if err != nil {
		t.Fatalf("CONFORMANCE_SEED=%d: %v", seed, err)
	}
	return history
}
