package topology

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWorkedExamplesOfPeers has the examples N01 to N18, each with what the project makes of it that it is from, read off its
// documentation and its tests. Where muster makes something else, theirs and why are given.
//
// N09, of single pods, is in package placement: TestPodsAloneGoBesideOthersAndAQuadStaysFree. In package gang are N13 and N14, about
// members beyond the minimum; N15, about the wait for a preferred level: TestAGangWaitsForTheRackThatItPrefers; and N12, a tree of
// groups without a topology: TestTheLeastOfEachGroupOfATreeComesFirst. N16 is the first of TestSharesByExamples, and N18 is
// TestADeadNodeIsReplacedInItsRack, where nothing keeps the spare nodes from others. N10 and N11, trees of groups with a topology, are in
// package placement: TestGroupsShareADomain.
func TestWorkedExamplesOfPeers(t *testing.T) {
	rack := of(1, "r 3 3 2 1")
	odd := of(1, "r 6 5 4 3 2")
	racksOf18 := of(1, "a"+strings.Repeat(" 1", 18), "b"+strings.Repeat(" 1", 18))
	repaired := slices.Concat(slices.Repeat([]int{1}, 16), []int{0, 0})
	for id, test := range map[string]struct {
		who    string
		of     network
		ask    Ask
		want   []int
		theirs []int // nil for the same
		why    string
	}{
		"N01": {who: "Kueue, BestFit", of: rack, ask: Ask{Pods: 7, Required: 1}, want: []int{3, 3, 0, 1}},
		"N02": {
			who: "Kueue, LeastFreeCapacity", of: rack, ask: Ask{Pods: 7},
			want: []int{3, 3, 0, 1}, theirs: []int{1, 3, 2, 1}, why: "three nodes do, and a node of two stays whole",
		},
		"N03": {who: "Kueue, BestFit", of: odd, ask: Ask{Pods: 12, Slices: []Slice{{2, 2}}}, want: []int{6, 0, 4, 0, 2}},
		"N04": {
			who: "Kueue, LeastFreeCapacity", of: odd, ask: Ask{Pods: 10, Slices: []Slice{{2, 2}}},
			want: []int{6, 0, 4, 0, 0}, theirs: []int{0, 2, 4, 2, 2}, why: "two nodes do, and none is left with a part",
		},
		"N05": {
			who: "Kueue, slices in slices", of: of(2, "a x 8 8 8 8", "a y 8 8 8 8", "b x 8 8 8 8", "b y 8 8 8 8"),
			ask:  Ask{Pods: 64, Slices: []Slice{{32, 1}, {16, 2}}},
			want: []int{8, 8, 8, 8, 8, 8, 8, 8, 0, 0, 0, 0, 0, 0, 0, 0},
		},
		"N06": {
			who: "Kueue, balanced", of: of(2, "x a 20 10", "x b 15 15"), ask: Ask{Pods: 20, Balanced: 2}, want: []int{20, 0, 0, 0},
		},
		"N07": {
			who: "Kueue, balanced", of: of(2, "x a 15", "y b 15", "z c 15 15"),
			ask: Ask{Pods: 25, Balanced: 3, Slices: []Slice{{5, 3}}}, want: []int{0, 0, 15, 10},
		},
		"N08": {
			who: "KAI", of: of(2, "a w 1 1", "a x 1", "a y 1", "a z 1", "b x 1 1", "b y 1 1", "b z 1 1"),
			ask: Ask{Pods: 3, Required: 1}, want: []int{1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0},
		},
		"N17": {
			who: "racks of 18 that keep two nodes for repair", of: racksOf18, ask: Ask{Pods: 32, Slices: []Slice{{16, 1}}},
			want: slices.Concat(repaired, repaired),
		},
	} {
		t.Run(id, func(t *testing.T) {
			division, _ := test.of.tree.Pack(test.of.slots, &test.ask, inTime)
			if got := test.of.divided(division); !cmp.Equal(got, test.want) {
				t.Errorf("%s: divided as %v, want %v", test.who, got, test.want)
			}
			if test.theirs == nil {
				return
			}
			ours, valid := test.of.costOf(&test.ask, test.want)
			theirs, valid2 := test.of.costOf(&test.ask, test.theirs)
			if !valid || !valid2 || !ours.less(theirs) {
				t.Errorf("%s divides as %v, and %v is no better, though %s", test.who, test.theirs, test.want, test.why)
			}
		})
	}
}

// N18: racks of 18 nodes, and a slice of 16 in each. Two nodes of a rack may die, one after the other, and no third one.
func TestADeadNodeIsReplacedInItsRack(t *testing.T) {
	racks := of(1, "a"+strings.Repeat(" 0", 16)+" 1 1", "b"+strings.Repeat(" 0", 16)+" 1 1")
	var slice, other []Share
	for node := range int32(16) {
		slice, other = append(slice, Share{node, 1}), append(other, Share{18 + node, 1})
	}
	for _, want := range []int32{16, 17, -1} {
		slice = slice[1:] // its node dies
		ask := &Ask{Pods: 1, Slices: []Slice{{16, 1}}, There: slices.Concat(slice, other)}
		division, lack := racks.tree.Pack(racks.slots, ask, inTime)
		if want < 0 {
			if division != nil || lack == nil {
				t.Errorf("the third one is replaced by %v, lacking %+v", division, lack)
			}
			return
		}
		if lack != nil || !cmp.Equal(division.Nodes, []Share{{want, 1}}) {
			t.Fatalf("replaced by %v, lacking %+v, want node %d", division, lack, want)
		}
		racks.slots[want] = 0
		slice = append(slice, Share{want, 1})
	}
}
