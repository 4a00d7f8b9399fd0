package topology

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSharesByExamples(t *testing.T) {
	rack := " 1" + strings.Repeat(" 1", 17)
	racks := of(1, "a"+rack, "b"+rack, "c"+rack)
	shares := func(sizes ...int) *Shares { return &Shares{Level: 1, Sizes: sizes} }
	for name, test := range map[string]struct {
		of    network
		ask   Ask
		want  []int // of each rack, nil for no room
		lacks Lack
	}{
		"three racks": {of: racks, ask: Ask{Pods: 40, Shares: shares(8, 16, 16)}, want: []int{8, 16, 16}},
		"a rack too few": {
			of: racks, ask: Ask{Pods: 40, Shares: shares(10, 10, 10, 10)},
			lacks: Lack{Domains: 3, Within: -1, Share: 10},
		},
		"the tightest ones": {
			of: of(1, "a 9", "b 5", "c 4", "a 1"), ask: Ask{Pods: 9, Shares: shares(4, 5)},
			want: []int{0, 5, 4},
		},
		"a share is too large": {
			of: of(1, "a 4", "b 3"), ask: Ask{Pods: 7, Shares: shares(2, 5)},
			lacks: Lack{Domains: 2, Pods: 4, Share: 5},
		},
		"one is lost": {
			of: of(1, "a 4", "b 4"), ask: Ask{Pods: 1, Shares: shares(3, 2), There: []Share{{1, 2}, {0, 2}}},
			want: []int{1, 0},
		},
		"others have the place": {
			of: of(1, "a 0", "b 1"), ask: Ask{Pods: 1, Shares: shares(3, 2), There: []Share{{1, 2}, {0, 2}}},
			want: []int{0, 1},
		},
		"pods in a rack too many": {
			of:  of(1, "a 4", "b 4", "c 4"),
			ask: Ask{Pods: 2, Shares: shares(3, 2), There: []Share{{0, 1}, {1, 1}, {2, 1}}},
		},
		"slices within": {
			of: of(1, "a 3 3", "b 2 2 2"), ask: Ask{Pods: 4, Shares: shares(4), Slices: []Slice{{2, 2}}},
			want: []int{4, 0},
		},
		"a block has them all": {
			of: of(2, "a x 4", "a y 3", "b z 4", "b w 4"), ask: Ask{Pods: 8, Required: 1, Shares: &Shares{Level: 2, Sizes: []int{4, 4}}},
			want: []int{0, 0, 4, 4},
		},
		"nodes without a rack are in none": {
			of: of(1, "a 4", "- 4"), ask: Ask{Pods: 4, Shares: shares(2, 2)},
			lacks: Lack{Domains: 1, Within: -1, Share: 2},
		},
		"no sum": {of: racks, ask: Ask{Pods: 3, Shares: shares(2, 2)}, lacks: Lack{Domains: 3, Within: -1}},
	} {
		t.Run(name, func(t *testing.T) {
			division, lack := test.of.tree.Pack(test.of.slots, &test.ask, inTime)
			if diff := cmp.Diff(test.want, test.of.byDomain(division, test.ask.Shares.Level)); diff != "" {
				t.Errorf("by domain (-want +got):\n%s", diff)
			}
			if (lack == nil) != (test.want != nil) || lack != nil && test.lacks != (Lack{}) && *lack != test.lacks {
				t.Errorf("lacking %+v, want %+v", lack, test.lacks)
			}
		})
	}
}

// byDomain returns what each domain of a level has of a division.
func (n network) byDomain(d *Division, level int) (pods []int) {
	if d == nil {
		return nil
	}
	of := n.divided(d)
	for _, domain := range n.tree.at(level) {
		sum := 0
		for node, has := range of {
			if n.tree.within(int32(node), domain) {
				sum += has
			}
		}
		pods = append(pods, sum)
	}
	return pods
}

// Each way to give shares to racks is tried.
func TestNoAllotmentIsBetter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 3000 {
		n := network{}
		var nodes []Node
		racks := 1 + random.IntN(5)
		for i := range int32(racks * 2) {
			nodes = append(nodes, Node{Index: i, Path: []int32{i / 2}})
			n.slots = append(n.slots, random.Int32N(5))
		}
		n.tree = New(nodes, 1)
		ask := &Ask{Shares: &Shares{Level: 1}}
		for range 1 + random.IntN(3) {
			ask.Shares.Sizes = append(ask.Shares.Sizes, 1+random.IntN(6))
		}
		there := make([]int, racks)
		for range random.IntN(3) {
			node := random.IntN(len(nodes))
			ask.There = append(ask.There, Share{Node: int32(node), Pods: 1})
			there[node/2]++
		}
		if ask.Pods = ask.Shares.total() - len(ask.There); ask.Pods < 1 {
			continue
		}
		least := n.leastLeft(ask, there)
		division, _ := n.tree.Pack(n.slots, ask, inTime)
		if (division == nil) != (least < 0) {
			t.Fatalf("%v, %+v: divided as %v, and the least that is left is %d", n.slots, *ask.Shares, n.divided(division), least)
		}
		if division == nil {
			continue
		}
		found++
		left := 0
		var sizes []int
		for rack, pods := range n.byDomain(division, 1) {
			if pods+there[rack] == 0 {
				continue
			}
			sizes = append(sizes, pods+there[rack])
			left += int(n.slots[2*rack]+n.slots[2*rack+1]) - pods
		}
		slices.Sort(sizes)
		if want := slices.Sorted(slices.Values(ask.Shares.Sizes)); !slices.Equal(sizes, want) || left != least {
			t.Fatalf("%v, %+v: shares of %v leave %d, want %v and %d", n.slots, ask, sizes, left, want, least)
		}
	}
	if found < 300 {
		t.Errorf("only %d of the cases have room", found)
	}
}

// leastLeft returns how much the best way leaves over in racks of two nodes, -1 if there is none.
func (n network) leastLeft(ask *Ask, there []int) int {
	least, used := -1, make([]bool, len(there))
	var give func(sizes []int, left int)
	give = func(sizes []int, left int) {
		if len(sizes) == 0 {
			for rack, pods := range there {
				if pods > 0 && !used[rack] {
					return
				}
			}
			if least < 0 || left < least {
				least = left
			}
			return
		}
		for rack := range there {
			room := int(n.slots[2*rack]+n.slots[2*rack+1]) + there[rack] - sizes[0]
			if used[rack] || room < 0 || there[rack] > sizes[0] {
				continue
			}
			used[rack] = true
			give(sizes[1:], left+room)
			used[rack] = false
		}
	}
	give(ask.Shares.Sizes, 0)
	return least
}
