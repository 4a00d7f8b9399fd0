package topology

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// network is a tree with the slots of its nodes.
type network struct {
	tree  *Tree
	slots []int32
}

// of returns a network of nodes that are listed as "block rack slots…", with one label for each level.
func of(levels int, lines ...string) network {
	var n network
	var nodes []Node
	for _, line := range lines {
		words := strings.Fields(line)
		var path []int32
		for _, word := range words[:levels] {
			path = append(path, int32(strings.Index("abcrxyzw", word))) // a dash is none of them
		}
		for _, word := range words[levels:] {
			var slots int32
			fmt.Sscan(word, &slots)
			nodes = append(nodes, Node{Index: int32(len(n.slots)), Path: path})
			n.slots = append(n.slots, slots)
		}
	}
	n.tree = New(nodes, levels)
	return n
}

// divided returns what each node of a network has.
func (n network) divided(d *Division) []int {
	if d == nil {
		return nil
	}
	pods := make([]int, len(n.slots))
	for _, share := range d.Nodes {
		pods[share.Node] = share.Pods
	}
	return pods
}

func inTime() bool { return false }

func TestASearchThatIsLateEnds(t *testing.T) {
	n := of(1, "a 3 2 1", "b 2 2")
	late := func() bool { return true }
	division, lack := n.tree.Pack(n.slots, &Ask{Pods: 7}, late)
	if got := n.divided(division); !cmp.Equal(got, []int{3, 2, 1, 1, 0}) || lack != nil {
		t.Errorf("divided as %v, lacking %v", got, lack)
	}
	if !division.Late {
		t.Error("it is said to be the best")
	}
	ask := &Ask{Pods: 3, Slices: []Slice{{2, 1}}, There: []Share{{0, 1}}} // which a rule does not divide
	if division, lack := n.tree.Pack(n.slots, ask, late); division != nil || lack != nil {
		t.Errorf("divided as %v, lacking %v", division, lack)
	}
}

func TestPackingByExamples(t *testing.T) {
	racksOf18 := of(1, "a"+strings.Repeat(" 1", 18), "b"+strings.Repeat(" 1", 18))
	for name, test := range map[string]struct {
		of    network
		ask   Ask
		want  []int // nil for no room
		lacks Lack
	}{
		"odd nodes of two racks make no slice": {
			of: of(1, "a 3 2", "b 2 1", "c 1 1"), ask: Ask{Pods: 8, Slices: []Slice{{2, 1}}}, want: []int{3, 1, 2, 0, 1, 1},
		},
		"balance counts what is there": {
			of: of(1, "a 5", "b 5", "c 5"), ask: Ask{Pods: 2, Balanced: 1, There: []Share{{0, 3}, {1, 2}, {2, 2}}}, want: []int{0, 1, 1},
		},
		"balance comes before few nodes": {
			of: of(1, "a 8 8 8", "b 8 8 8"), ask: Ask{Pods: 36, Balanced: 1}, want: []int{8, 8, 2, 8, 8, 2},
		},
		"a rack too many":                  {of: racksOf18, ask: Ask{Pods: 40, Slices: []Slice{{10, 1}}}, lacks: Lack{Domains: 1, Pods: 20}},
		"no rack is large enough":          {of: of(1, "a 4", "b 3"), ask: Ask{Pods: 5, Required: 1}, lacks: Lack{Domains: 2, Pods: 4}},
		"nodes without a rack are in none": {of: of(1, "a 1", "- 2"), ask: Ask{Pods: 2, Required: 1}, lacks: Lack{Domains: 1, Pods: 1}},
		"there is no rack":                 {of: of(1, "- 2"), ask: Ask{Pods: 2, Required: 1}, lacks: Lack{Within: -1}},
		"a rack of the same name in another block is another rack": {
			of: of(2, "a x 1", "b x 2"), ask: Ask{Pods: 3, Required: 2}, lacks: Lack{Domains: 2, Within: 1, Pods: 2},
		},
		"nodes without a rack are used if none is required": {of: of(1, "a 1", "- 2"), ask: Ask{Pods: 3}, want: []int{1, 2}},
		"others follow to their rack": {
			of: of(1, "a 1 1", "b 2 2"), ask: Ask{Pods: 2, Required: 1, There: []Share{{3, 1}}}, want: []int{0, 0, 0, 2},
		},
		"members in two racks": {
			of: of(1, "a 1 1", "b 2 2"), ask: Ask{Pods: 2, Required: 1, There: []Share{{3, 1}, {0, 1}}}, lacks: Lack{Within: -1},
		},
		"a slice that has lost a member gets one": {
			of: of(1, "a 1 1 1", "b 1"), ask: Ask{Pods: 3, Slices: []Slice{{2, 1}}, There: []Share{{3, 1}}}, want: []int{1, 1, 0, 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			division, lack := test.of.tree.Pack(test.of.slots, &test.ask, inTime)
			if got := test.of.divided(division); !cmp.Equal(got, test.want) {
				t.Errorf("divided as %v, want %v", got, test.want)
			}
			if lack != nil && *lack != test.lacks {
				t.Errorf("lacking %+v, want %+v", *lack, test.lacks)
			}
		})
	}
}

// mustFit checks that a division does what is asked.
func (n network) mustFit(t *testing.T, d *Division, ask *Ask) {
	t.Helper()
	in := make([]int, len(n.tree.domains))
	all, there := 0, 0
	for _, share := range ask.There {
		there += share.Pods
	}
	for _, share := range slices.Concat(d.Nodes, ask.There) {
		if at := slices.Index(d.Nodes, share); at >= 0 && share.Pods > int(n.slots[share.Node]) {
			t.Errorf("node %d has %d pods and room for %d", share.Node, share.Pods, n.slots[share.Node])
		}
		all += share.Pods
		at := slices.IndexFunc(n.tree.domains, func(d domain) bool { return d.node == share.Node })
		for ; at >= 0; at = int(n.tree.domains[at].parent) {
			in[at] += share.Pods
		}
	}
	if all != ask.Pods+there {
		t.Errorf("%d pods are divided or there, want %d", all, ask.Pods+there)
	}
	for i, pods := range in {
		if step := ask.step(n.tree.domains[i].level); pods%step != 0 {
			t.Errorf("domain %d has %d pods, which is not a multiple of %d", i, pods, step)
		}
		if n.tree.domains[i].level == ask.Required && pods != 0 && pods != all {
			t.Errorf("domain %d has %d pods of %d", i, pods, all)
		}
	}
}

// costOf returns what a division costs, counted domain by domain, and whether it is as asked.
func (n network) costOf(ask *Ask, pods []int) (c cost, valid bool) {
	in, there, free := make([]int, len(n.tree.domains)), make([]int, len(n.tree.domains)), make([]int, len(n.tree.domains))
	all := 0
	for _, share := range ask.There {
		there[n.tree.nodes[share.Node]] += share.Pods
		all += share.Pods
	}
	for i := len(n.tree.domains) - 1; i > 0; i-- {
		d := &n.tree.domains[i]
		if d.node >= 0 {
			in[i], free[i] = pods[d.node], int(n.slots[d.node])
		}
		for _, sums := range [][]int{in, there, free} {
			sums[d.parent] += sums[i]
		}
		if step := ask.step(d.level); (in[i]+there[i])%step != 0 || in[i] > 0 && d.bare && step > 1 {
			return c, false
		}
		if d.level == ask.Required && in[i]+there[i] > 0 && (in[i] != ask.Pods || there[i] != all || d.lacks) {
			return c, false
		}
		if d.level == ask.Balanced {
			c.uneven += uint64((there[i]+in[i])*(there[i]+in[i])-there[i]*there[i]) << nodeBits
		}
		if in[i] == 0 {
			continue
		}
		switch {
		case there[i] > 0:
		case d.node >= 0 && ask.Balanced > 0 && ask.Balanced < d.level:
			c.uneven++ // few nodes come after balance
		default:
			c.used += usedAt(d.level)
		}
		if d.level <= countedFree {
			c.free += uint64(free[i]) << (freeBits * (countedFree - d.level))
		}
	}
	return c, true
}

// TestNoDivisionIsBetter tries all ways to divide few pods over few nodes.
func TestNoDivisionIsBetter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 3000 {
		levels := 1 + random.IntN(2)
		var lines []string
		for range 2 + random.IntN(5) {
			line := ""
			for range levels {
				line += fmt.Sprint([]string{"a", "b", "c", "-"}[random.IntN(4)], " ")
			}
			lines = append(lines, line+fmt.Sprint(random.IntN(5)))
		}
		n := of(levels, lines...)
		ask := &Ask{Pods: 1 + random.IntN(8), Required: random.IntN(levels + 1), Balanced: random.IntN(levels + 2)}
		if size := 1 + random.IntN(3); ask.Pods%size == 0 && random.IntN(2) == 0 {
			ask.Slices = []Slice{{size, ask.Required + random.IntN(levels+2-ask.Required)}}
		}
		if random.IntN(3) == 0 {
			ask.There = []Share{{random.Int32N(int32(len(lines))), 1 + random.IntN(2)}, {random.Int32N(int32(len(lines))), 1}}
		}
		for _, share := range ask.There {
			if len(ask.Slices) > 0 && (ask.Pods+len(ask.There)-1+share.Pods)%ask.Slices[0].Size != 0 {
				ask.Slices = nil // they have to divide all
			}
		}
		least := never()
		each(n.slots, ask.Pods, nil, func(pods []int) {
			if c, valid := n.costOf(ask, pods); valid && c.less(least) {
				least = c
			}
		})
		division, lack := n.tree.Pack(n.slots, ask, inTime)
		if (division == nil) != (least == never()) || (division == nil) == (lack == nil) {
			t.Fatalf("%v, %+v: found %v, lacking %+v, and the least cost is %v", lines, ask, division, lack, least)
		}
		if division == nil {
			if lack.Pods >= ask.Pods && len(ask.There) == 0 {
				t.Errorf("%v, %+v: lacking %+v", lines, ask, lack)
			}
			continue
		}
		found++
		n.mustFit(t, division, ask)
		if simple, _ := n.tree.Pack(n.slots, ask, func() bool { return true }); simple != nil && simple.Late {
			n.mustFit(t, simple, ask)
			if c, valid := n.costOf(ask, n.divided(simple)); !valid || c != simple.cost {
				t.Fatalf("%v, %+v: %v costs %v by the rule and is said to cost %v", lines, ask, n.divided(simple), c, simple.cost)
			}
		}
		if c, valid := n.costOf(ask, n.divided(division)); !valid || c != least {
			t.Fatalf("%v, %+v: %v costs %v, and the least is %v", lines, ask, n.divided(division), c, least)
		}
	}
	if found < 500 {
		t.Errorf("only %d of the cases have room", found)
	}
}

// A node with half a slice has room for one pod that makes none whole.
func TestNoSliceIsBroken(t *testing.T) {
	n := of(2, "a x 1 1 1", "b y 4 4 4")
	if d, _ := n.tree.Pack(n.slots, &Ask{Pods: 1, Required: 2, Slices: []Slice{{3, 3}}}, inTime); d != nil {
		t.Errorf("one pod is divided as %v", d)
	}
}

// each calls a function with all ways to divide pods over nodes.
func each(slots []int32, pods int, before []int, f func([]int)) {
	if len(slots) == 0 {
		if pods == 0 {
			f(before)
		}
		return
	}
	for n := range min(int(slots[0]), pods) + 1 {
		each(slots[1:], pods-n, append(slices.Clip(before), n), f)
	}
}

func BenchmarkPack(b *testing.B) {
	for _, size := range []struct{ nodes, pods int }{{5000, 512}, {15000, 4000}} {
		for _, free := range []string{"empty", "mixed"} {
			b.Run(fmt.Sprintf("%d pods on %d nodes, %s", size.pods, size.nodes, free), func(b *testing.B) {
				random := rand.New(rand.NewPCG(1, 2))
				var nodes []Node
				var slots []int32
				for i := range int32(size.nodes) {
					nodes = append(nodes, Node{i, []int32{i / 1440, i / 144, i / 18}})
					slots = append(slots, 8)
					if free == "mixed" {
						slots[i] = random.Int32N(9)
					}
				}
				tree := New(nodes, 3)
				for name, ask := range map[string]*Ask{
					"":          {Pods: size.pods},
					"required":  {Pods: size.pods, Required: 1},
					"in slices": {Pods: size.pods, Slices: []Slice{{32, 2}, {16, 3}}},
					"racks":     {Pods: size.pods, Balanced: 3},
					"nodes":     {Pods: size.pods, Balanced: 4},
				} {
					b.Run(name, func(b *testing.B) {
						for b.Loop() {
							if d, _ := tree.Pack(slots, ask, inTime); d == nil {
								b.Fatal("no room")
							}
						}
					})
				}
			})
		}
	}
}
