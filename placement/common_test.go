package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

const blockLabel, rackLabel = "example.com/block", "example.com/rack"

// blocks sets nodes of racks in blocks, as in "a: x 3, y 5": the nodes are called as "a-x".
func blocks(t *testing.T, c *cluster.Cluster, of ...string) {
	t.Helper()
	for _, line := range of {
		block, racks, _ := strings.Cut(line, ": ")
		for rack := range strings.SplitSeq(racks, ", ") {
			name, room := "", 0
			if _, err := fmt.Sscan(rack, &name, &room); err != nil {
				t.Fatal(err)
			}
			node := amount{cpu: room}.node(block + "-" + name)
			node.Labels[blockLabel], node.Labels[rackLabel] = block, name
			if block == "-" {
				delete(node.Labels, blockLabel)
			}
			set(t, c, node)
		}
	}
}

// inRack is a group whose pods go to one rack.
func inRack(name string, pods int, within ...*Common) Demand {
	return Demand{
		Pods: podsAsking(amount{cpu: 1}, name, pods), AtLeast: pods, Within: within,
		Network: &Network{Levels: []string{blockLabel, rackLabel}, Required: 2},
	}
}

// loose is a group that asks nothing for itself.
func loose(name string, pods int, within ...*Common) Demand {
	return Demand{Pods: podsAsking(amount{cpu: 1}, name, pods), AtLeast: pods, Within: within}
}

// inBlock has groups go to one block, with pods on some nodes.
func inBlock(store *predicates.VerdictStore, beside ...string) *Common {
	c := &Common{Levels: []string{blockLabel}, Required: 1}
	for _, name := range beside {
		c.Beside = append(c.Beside, store.Snapshot().NodeByName(name).Index)
	}
	return c
}

// placesOf counts the pods of each group by node, as in "a-x 3".
func placesOf(plan *Plan, result Together) (groups []string) {
	for i := range result.Enough {
		on := map[string]int{}
		places := result.Enough[i].Places
		if i < len(result.More) {
			places = slices.Concat(places, result.More[i].Places)
		}
		for _, place := range places {
			if place.Node >= 0 {
				on[plan.Node(place.Node).Name]++
			}
		}
		var parts []string
		for name, pods := range on {
			parts = append(parts, fmt.Sprint(name, " ", pods))
		}
		slices.Sort(parts)
		groups = append(groups, strings.Join(parts, ", "))
	}
	return groups
}

// N10 and N11 are examples of what peers make of trees of groups with a topology, see package topology.
func TestGroupsShareADomain(t *testing.T) {
	small := []string{"a: x 3, y 5", "b: x 5, y 5"}
	for name, test := range map[string]struct {
		of      []string
		beside  []string
		demands func(block *Common) []Demand
		want    []string
		lack    *Lack
		placed  int
	}{
		"N10: each in a rack, of the block that has two": {
			of:      small,
			demands: func(block *Common) []Demand { return []Demand{inRack("p", 5, block), inRack("q", 5, block)} },
			want:    []string{"b-x 5", "b-y 5"},
		},
		"N11: the small one comes first and leaves the large rack": {
			of:      small,
			demands: func(block *Common) []Demand { return []Demand{inRack("p", 3, block), inRack("q", 5, block)} },
			want:    []string{"a-x 3", "a-y 5"},
		},
		"what is loose leaves a rack": {
			of:      []string{"a: x 4, y 6"},
			demands: func(block *Common) []Demand { return []Demand{loose("p", 4, block), inRack("q", 6, block)} },
			want:    []string{"a-x 4", "a-y 6"},
		},
		"others are beside already": {
			of: []string{"a: x 2, y 3", "b: x 3, y 9"}, beside: []string{"b-y"},
			demands: func(block *Common) []Demand { return []Demand{inRack("p", 2, block)} },
			want:    []string{"b-x 2"},
		},
		"others are in two blocks": {
			of: small, beside: []string{"a-x", "b-y"},
			demands: func(block *Common) []Demand { return []Demand{inRack("p", 2, block)} },
			lack:    &Lack{Key: blockLabel},
		},
		"no block has a rack for each": {
			of: small,
			demands: func(block *Common) []Demand {
				return []Demand{inRack("p", 5, block), inRack("q", 5, block), loose("r", 1, block)}
			},
			lack: &Lack{Key: blockLabel, Domains: 2, Value: "b", Pods: 10}, placed: 10,
		},
		"no block has a rack for the second": {
			of:      []string{"a: x 3, y 6", "b: x 4, y 4, z 4"},
			demands: func(block *Common) []Demand { return []Demand{inRack("p", 5, block), inRack("q", 4, block)} },
			lack:    &Lack{Key: rackLabel, Domains: 5, Value: "x", Pods: 3}, placed: 8,
		},
		"nodes without a block are in none": {
			of:      []string{"-: x 5"},
			demands: func(block *Common) []Demand { return []Demand{loose("p", 2, block)} },
			lack:    &Lack{Key: blockLabel},
		},
		"a block that is preferred": {
			of: []string{"a: x 3", "b: x 4, y 6"},
			demands: func(block *Common) []Demand {
				block.Required, block.Preferred = 0, 1
				return []Demand{inRack("p", 3, block), inRack("q", 6, block)}
			},
			want: []string{"b-x 3", "b-y 6"},
		},
		"no block has room for what is preferred": {
			of: []string{"a: x 3, y 5", "b: x 3, y 6"},
			demands: func(block *Common) []Demand {
				block.Required, block.Preferred = 0, 1
				return []Demand{inRack("p", 5, block), inRack("q", 6, block)}
			},
			want: []string{"a-y 5", "b-y 6"},
		},
		"who is beyond the minimum goes elsewhere where a block is only preferred": {
			of: []string{"a: x 3", "b: x 2"},
			demands: func(block *Common) []Demand {
				block.Required, block.Preferred = 0, 1
				d := loose("p", 5, block)
				d.AtLeast = 3
				return []Demand{d}
			},
			want: []string{"a-x 3, b-x 2"},
		},
		"a member comes again where the block is full that is only preferred": {
			of: []string{"a: x 0", "b: x 2"}, beside: []string{"a-x"},
			demands: func(block *Common) []Demand {
				block.Required, block.Preferred = 0, 1
				d := loose("p", 1, block)
				d.AtLeast = 0
				return []Demand{d}
			},
			want: []string{"b-x 1"},
		},
		"a kind without a node leaves the others a block": {
			of: []string{"a: x 3", "b: x 4"},
			demands: func(block *Common) []Demand {
				d := loose("p", 3, block)
				d.Pods, d.AtLeast = append(podsAsking(amount{cpu: 9}, "large", 1), d.Pods...), 3
				return []Demand{d}
			},
			want: []string{"a-x 3"},
		},
		"a group of another domain": {
			of: []string{"a: x 4", "b: x 3"},
			demands: func(block *Common) []Demand {
				other := *block
				return []Demand{loose("p", 2, block), loose("q", 2, &other), loose("r", 2, block)}
			},
			want: []string{"a-x 2", "b-x 2", "a-x 2"},
		},
		"domains in domains": {
			of: []string{"a: x 2, y 6", "b: x 4, y 5"},
			demands: func(block *Common) []Demand {
				left := &Common{Levels: []string{blockLabel, rackLabel}, Required: 2}
				right := *left
				return []Demand{loose("p", 1, block, left), loose("q", 3, block, &right), loose("r", 3, block, left), loose("s", 1, block, &right)}
			},
			want: []string{"b-y 1", "b-x 3", "b-y 3", "b-x 1"},
		},
		"more than have to be there stay in the domain": {
			of: []string{"a: x 3", "b: x 5"},
			demands: func(block *Common) []Demand {
				d := loose("p", 4, block)
				d.AtLeast = 2
				return []Demand{d}
			},
			want: []string{"b-x 4"},
		},
		"more than there is room for stay in the domain": {
			of: []string{"a: x 3", "b: x 2"},
			demands: func(block *Common) []Demand {
				d := loose("p", 4, block)
				d.AtLeast = 3
				return []Demand{d}
			},
			want: []string{"a-x 3"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, store := newStore(t)
			blocks(t, c, test.of...)
			demands := test.demands(inBlock(store, test.beside...))
			plan := New(store, podsOf(demands), 1)
			defer plan.Close()
			got := plan.PlaceTogether(demands, time.Time{})
			switch {
			case got.Kept != (test.want != nil):
				t.Fatalf("kept: %t, %+v", got.Kept, got.Enough)
			case got.Kept:
				if places := placesOf(plan, got); !cmp.Equal(places, test.want) {
					t.Errorf("placed on %v, want %v", places, test.want)
				}
				return
			case !cmp.Equal(got.Enough[0].Lack, test.lack) || got.Enough[0].Placed != test.placed || got.Cut:
				t.Errorf("lacking %+v with %d places, want %+v with %d", got.Enough[0].Lack, got.Enough[0].Placed, test.lack, test.placed)
			}
			for node := range plan.Snapshot().Nodes() {
				if pods := len(plan.Node(node.Index).Pods); pods > 0 {
					t.Errorf("%s keeps %d pods", node.Name, pods)
				}
			}
		})
	}
}

// To take the largest group first, and the tightest rack, is not enough in the first case. In the second one, block a is tried first, and
// what there is to try does not end.
func TestASearchForASharedDomainGoesBack(t *testing.T) {
	for name, test := range map[string]struct {
		of     []string
		groups []int
		cut    bool
	}{
		"to another rack": {of: []string{"a: x 11, y 11"}, groups: []int{6, 4, 4, 3, 3, 2}},
		"to another block, after a time": {
			of: []string{"a: " + racks(6, 5), "b: z 4, " + racks(9, 3)}, groups: slices.Repeat([]int{3}, 10), cut: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, store := newStore(t)
			blocks(t, c, test.of...)
			block := inBlock(store)
			var demands []Demand
			for i, pods := range test.groups {
				demands = append(demands, inRack(fmt.Sprint("group-", i), pods, block))
			}
			plan := New(store, podsOf(demands), 1)
			defer plan.Close()
			got := plan.PlaceTogether(demands, time.Time{})
			if !got.Kept || got.Cut != test.cut {
				t.Fatalf("kept: %t, cut: %t, lacking %+v", got.Kept, got.Cut, got.Enough[0].Lack)
			}
			mustBeNear(t, plan, demands, got)
		})
	}
}

// Of more kinds than are placed near each other, pods go anywhere where nothing binds them.
func TestASharedPreferenceKeepsNobodyFromStarting(t *testing.T) {
	for required, kept := range map[int]bool{0: true, 1: false} {
		c, store := newStore(t)
		blocks(t, c, "a: x 99, y 99", "b: x 9")
		block := &Common{Levels: []string{blockLabel}, Required: required, Preferred: 1}
		demands := []Demand{{Within: []*Common{block}}}
		for i := range mostNearKinds + 1 {
			pod := podsAsking(amount{cpu: 1, gpu: 0}, fmt.Sprint("p-", i), 1)[0]
			pod.Spec.NodeSelector = map[string]string{fmt.Sprint("kind-", i): ""}
			demands[0].Pods = append(demands[0].Pods, pod)
		}
		demands[0].AtLeast = len(demands[0].Pods)
		for node := range c.Snapshot().Nodes() {
			labelled := node.DeepCopy()
			for i := range mostNearKinds + 1 {
				labelled.Labels[fmt.Sprint("kind-", i)] = ""
			}
			set(t, c, labelled)
		}
		plan := New(store, podsOf(demands), 1)
		got := plan.PlaceTogether(demands, time.Time{})
		if got.Kept != kept {
			t.Errorf("kept with the required level %d: %t, %+v", required, got.Kept, got.Enough[0].Lack)
		}
		plan.Close()
	}
}

// racks names a number of racks with room for as many pods each, for [blocks].
func racks(count, room int) string {
	var all []string
	for i := range count {
		all = append(all, fmt.Sprint("r", i, " ", room))
	}
	return strings.Join(all, ", ")
}

// TestNoSharedDomainIsMissed holds the search against all ways to choose domains for groups of pods of one CPU each.
func TestNoSharedDomainIsMissed(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	kept := 0
	for range 300 {
		c, store := newStore(t)
		room := map[string][]int{} // of the racks of each block
		for b := range 1 + random.IntN(3) {
			block := fmt.Sprint("block", b)
			for r := range 1 + random.IntN(3) {
				cpu := 1 + random.IntN(5)
				blocks(t, c, fmt.Sprintf("%s: rack%d %d", block, r, cpu))
				room[block] = append(room[block], cpu)
			}
		}
		common := inBlock(store)
		var demands []Demand
		var sizes []int // less than 0 where one rack has all
		for i := range 1 + random.IntN(4) {
			pods, name := 1+random.IntN(4), fmt.Sprint("group-", i)
			if random.IntN(3) == 0 {
				demands, sizes = append(demands, loose(name, pods, common)), append(sizes, pods)
			} else {
				demands, sizes = append(demands, inRack(name, pods, common)), append(sizes, -pods)
			}
		}
		fits := false
		for _, racks := range room {
			fits = fits || haveRoom(racks, sizes, 0)
		}
		plan := New(store, podsOf(demands), 1)
		got := plan.PlaceTogether(demands, time.Time{})
		if got.Kept != fits {
			t.Fatalf("kept: %t of %v in %v, %+v", got.Kept, sizes, room, got.Enough[0].Lack)
		}
		if got.Kept {
			kept++
			mustBeNear(t, plan, demands, got)
		}
		plan.Close()
	}
	if kept < 75 || kept > 225 {
		t.Errorf("%d of 300 cases have room", kept)
	}
}

// haveRoom tries each rack for each group of a size below 0, and the rest for the others.
func haveRoom(racks, sizes []int, loose int) bool {
	if len(sizes) == 0 {
		for _, cpu := range racks {
			loose -= cpu
		}
		return loose <= 0
	}
	if sizes[0] > 0 {
		return haveRoom(racks, sizes[1:], loose+sizes[0])
	}
	for i := range racks {
		if racks[i]+sizes[0] < 0 {
			continue
		}
		rest := slices.Clone(racks)
		rest[i] += sizes[0]
		if haveRoom(rest, sizes[1:], loose) {
			return true
		}
	}
	return false
}

// mustBeNear checks that all groups are in one block, and each that asks for it in one rack.
func mustBeNear(t *testing.T, plan *Plan, demands []Demand, got Together) {
	t.Helper()
	inBlocks := map[string]bool{}
	for i, d := range demands {
		racks := map[string]bool{}
		if len(got.Enough[i].Places) != d.AtLeast {
			t.Errorf("group %d has %d places", i, len(got.Enough[i].Places))
		}
		for _, place := range got.Enough[i].Places {
			node := plan.Node(place.Node)
			if node.Requested.MilliCPU > node.Allocatable.MilliCPU {
				t.Errorf("%s has too many pods", node.Name)
			}
			inBlocks[node.Labels[blockLabel]], racks[node.Name] = true, true
		}
		if d.Network != nil && len(racks) > 1 {
			t.Errorf("group %d is in %v", i, racks)
		}
	}
	if len(inBlocks) > 1 {
		t.Errorf("the groups are in %v", inBlocks)
	}
}
