package predicates

import (
	"math"
	"slices"
	"testing"

	"muster.dev/muster/cluster"
)

func TestATallyRatesInProportionToTheHighestAmongThoseAsked(t *testing.T) {
	c := newCluster()
	numbers := map[string]int64{"zero": 0, "one": 1, "four": 4, "most": math.MaxInt64}
	for name := range numbers {
		if err := c.Set(node(called(name))); err != nil {
			t.Fatal(err)
		}
	}
	snap := c.Snapshot()
	for _, test := range []struct {
		name     string
		among    []string
		reversed bool
		want     []int64
	}{
		{"none at all", nil, false, nil},
		{"where all are 0 all are 0", []string{"zero", "zero"}, false, []int64{0, 0}},
		{"reversed, they are the best", []string{"zero", "zero"}, true, []int64{MaxScore, MaxScore}},
		{"the highest is the best", []string{"one", "four", "zero"}, false, []int64{25, 100, 0}},
		{"reversed, it is the worst", []string{"one", "four", "zero"}, true, []int64{75, 0, 100}},
		{"only those count that are asked about", []string{"one", "zero"}, false, []int64{100, 0}},
		{"a number may be too large to be told from others", []string{"most", "four"}, false, []int64{100, 0}},
	} {
		t.Run(test.name, func(t *testing.T) {
			tally := &tally{of: func(node *cluster.Node) int64 { return numbers[node.Name] }, reversed: test.reversed}
			tally.Update(snap, indexes(snap))
			var nodes []int32
			for _, name := range test.among {
				nodes = append(nodes, snap.NodeByName(name).Index)
			}
			got := make([]int64, len(nodes))
			tally.Rate(nodes, nil, got)
			if !slices.Equal(got, test.want) {
				t.Errorf("rated %d, want %d", got, test.want)
			}
		})
	}
}

func TestATallyOfZeroesTakesNoMemory(t *testing.T) {
	c := newCluster()
	number := int64(0)
	tally := &tally{of: func(*cluster.Node) int64 { return number }}
	for i := range 100 {
		if err := c.Set(node(called(string(rune('a' + i))))); err != nil {
			t.Fatal(err)
		}
	}
	snap := c.Snapshot()
	tally.Update(snap, indexes(snap))
	if got := tally.size(); got != 0 {
		t.Errorf("%d bytes while all are 0", got)
	}
	number = 1
	tally.Update(snap, []int32{7})
	if got := tally.size(); got != 400 {
		t.Errorf("%d bytes for 100 nodes, want 400", got)
	}
}
