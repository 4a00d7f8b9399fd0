package cluster

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

func TestATableNeverChanges(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		type published struct {
			table Table[string, int]
			want  map[string]int
		}
		writer := newTableWriter[string, int]()
		model := map[string]int{}
		older := []published{{writer.publish(), map[string]int{}}}
		keys := rapid.Map(rapid.IntRange(0, 600), func(i int) string { return fmt.Sprint("key-", i) })
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				key, value := keys.Draw(t, "key"), rapid.Int().Draw(t, "value")
				writer.set(key, value)
				model[key] = value
			},
			"remove": func(t *rapid.T) {
				key := keys.Draw(t, "key")
				writer.remove(key)
				delete(model, key)
			},
			"publish": func(*rapid.T) {
				older = append(older, published{writer.publish(), maps.Clone(model)})
			},
			"": func(t *rapid.T) {
				for i, p := range older {
					if diff := cmp.Diff(p.want, maps.Collect(p.table.All())); diff != "" || p.table.Len() != len(p.want) {
						t.Fatalf("table %d of %d has %d keys (-want +got):\n%s", i, len(older), p.table.Len(), diff)
					}
					for key, want := range p.want {
						if got, ok := p.table.Get(key); !ok || got != want {
							t.Fatalf("table %d: %s is %d, want %d", i, key, got, want)
						}
					}
				}
				// Two are enough to see that older ones stay.
				older = older[max(0, len(older)-2):]
			},
		})
	})
}

func TestAnEmptyTableHasNothing(t *testing.T) {
	var table Table[string, int]
	if _, ok := table.Get("x"); ok || table.Len() != 0 || len(maps.Collect(table.All())) != 0 {
		t.Error("it has something")
	}
}

func TestWalkingOverATableCanStop(t *testing.T) {
	writer := newTableWriter[int, int]()
	for i := range 10 {
		writer.set(i, i)
	}
	seen := 0
	for range writer.publish().All() {
		seen++
		break
	}
	if seen != 1 {
		t.Errorf("%d steps, want 1", seen)
	}
}
