package gang

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

const (
	rackKey  = "example.com/rack"
	blockKey = "example.com/block"
)

// inRack puts a node into a rack of a block, "" for none.
func inRack(node *corev1.Node, block, rack string) *corev1.Node {
	node.Labels = map[string]string{}
	if block != "" {
		node.Labels[blockKey] = block
	}
	if rack != "" {
		node.Labels[rackKey] = rack
	}
	return node
}

// racks sets nodes of two CPUs each, which are named like block and rack and a number.
func (p *process) racks(nodes map[string]int) {
	for where, count := range nodes {
		block, rack, _ := strings.Cut(where, "/")
		for i := range count {
			p.set(inRack(node(fmt.Sprint(block, "-", rack, "-", i), "2"), block, rack))
		}
	}
}

// placed returns how many members of a group have places in each rack, by the names of nodes.
func (p *process) placed(group string) map[string]int {
	p.Helper()
	racks := map[string]int{}
	for _, about := range p.Observer.About(types.NamespacedName{Namespace: "default", Name: group}) {
		for _, m := range about.Members {
			if m.Node != "" {
				racks[m.Node[:strings.LastIndex(m.Node, "-")]]++
			}
		}
	}
	return racks
}

func TestAGangIsPlacedInOneDomainOfTheRequiredLevel(t *testing.T) {
	for name, test := range map[string]struct {
		nodes   map[string]int
		asks    map[string]string
		members int
		least   int64
		want    map[string]int
		why     string
	}{
		"in the rack with the least to spare": {
			map[string]int{"a/r": 3, "a/s": 2, "b/t": 4},
			map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey},
			4, 4,
			map[string]int{"a-s": 4},
			"",
		},
		"no rack is large enough, though all are": {
			map[string]int{"a/r": 3, "a/s": 2},
			map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey},
			7, 7,
			map[string]int{},
			"places for 6 of 7 members; of 2 domains by example.com/rack, r has the most room: for 6",
		},
		"in a block, and there in as few racks as possible": {
			map[string]int{"a/r": 1, "a/s": 1, "a/t": 1, "b/u": 2, "b/v": 3},
			map[string]string{v1alpha1.AnnotationRequiredTopology: blockKey, v1alpha1.AnnotationPreferredTopology: rackKey},
			6, 6,
			map[string]int{"b-v": 6},
			"",
		},
		"slices": {
			map[string]int{"a/r": 3, "a/s": 3},
			map[string]string{v1alpha1.AnnotationTopologySlices: "4@" + rackKey},
			8, 8,
			map[string]int{"a-r": 4, "a-s": 4},
			"",
		},
		"more than the minimum come in whole slices": {
			map[string]int{"a/r": 2, "a/s": 2, "a/t": 2, "a/u": 1},
			map[string]string{v1alpha1.AnnotationTopologySlices: "4@" + rackKey},
			20, 8,
			map[string]int{"a-r": 4, "a-s": 4, "a-t": 4},
			"",
		},
		"balanced": {
			map[string]int{"a/r": 3, "a/s": 3, "b/t": 2},
			map[string]string{v1alpha1.AnnotationRequiredTopology: blockKey, v1alpha1.AnnotationBalancedTopology: rackKey},
			8, 8,
			map[string]int{"a-r": 4, "a-s": 4},
			"",
		},
		"nodes without a rack are in none": {
			map[string]int{"a/": 4, "a/r": 1},
			map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey},
			4, 4,
			map[string]int{},
			"places for 2 of 4 members; of 1 domains by example.com/rack, r has the most room: for 2",
		},
		"Kueue's words": {
			map[string]int{"a/r": 3, "a/s": 2},
			map[string]string{v1alpha1.AnnotationKueueRequiredTopology: rackKey},
			4, 4,
			map[string]int{"a-s": 4},
			"",
		},
		"shares": {
			map[string]int{"a/r": 3, "a/s": 2, "a/t": 2},
			map[string]string{v1alpha1.AnnotationTopologyShares: "4,4,6@" + rackKey},
			15, 14,
			map[string]int{"a-r": 6, "a-s": 4, "a-t": 4},
			"",
		},
		"a share without a rack": {
			map[string]int{"a/r": 3, "a/s": 2, "a/t": 4},
			map[string]string{v1alpha1.AnnotationTopologyShares: "4,7,7@" + rackKey},
			18, 18,
			map[string]int{},
			"places for 0 of 18 members; for a share of 7, the next of 3 domains by example.com/rack is r, which has room for 6",
		},
		"shares that are not all": {
			map[string]int{"a/r": 3},
			map[string]string{v1alpha1.AnnotationTopologyShares: "4,4@" + rackKey},
			6, 6,
			map[string]int{},
			"metadata.annotations[muster.dev/topology-shares]: shares of 8 pods in all are not 6",
		},
		"slices that do not divide it": {
			map[string]int{"a/r": 3},
			map[string]string{v1alpha1.AnnotationTopologySlices: "4@" + rackKey},
			6, 6,
			map[string]int{},
			"metadata.annotations[muster.dev/topology-slices]: slices of 4 do not divide 6 pods",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.racks(test.nodes)
				group := podGroup("g", test.least)
				group.SetAnnotations(test.asks)
				pods := members("g", test.members, "1")
				p.set(group)
				p.set(objects(pods)...)
				p.after(time.Second)
				got := p.filter(pods[0])
				if diff := cmp.Diff(test.want, p.placed("g")); diff != "" {
					t.Errorf("places by rack (-want +got), and the first is told %q:\n%s", got, diff)
				}
				if why := p.why("g"); test.why != "" && why != test.why {
					t.Errorf("it waits as %q, want %q", why, test.why)
				}
			})
		})
	}
}

// The examples N13, of KAI, and N14, of Volcano: package topology has the others.
func TestWorkedExamplesOfPeersWithMembersBeyondTheMinimum(t *testing.T) {
	for id, test := range map[string]struct {
		nodes   map[string]int
		asks    map[string]string
		members int
		least   int64
		want    map[string]int
	}{
		"N13: three segments start, and the fourth waits whole": {
			map[string]int{"a/r": 4, "a/s": 4, "a/t": 4, "a/u": 3},
			map[string]string{v1alpha1.AnnotationTopologySlices: "4@" + rackKey},
			20, 12,
			map[string]int{"a-r": 4, "a-s": 4, "a-t": 4},
		},
		"N14: as many as the domain has nodes run, and the others wait": {
			map[string]int{"a/r": 4, "a/s": 3},
			map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey},
			8, 4,
			map[string]int{"a-r": 4},
		},
	} {
		t.Run(id, func(t *testing.T) {
			run(t, func(p *process) {
				p.racks(test.nodes)
				group := podGroup("g", test.least)
				group.SetAnnotations(test.asks)
				pods := members("g", test.members, "2") // a node each
				p.set(group)
				p.set(objects(pods)...)
				p.after(time.Second)
				p.filter(pods[0])
				if diff := cmp.Diff(test.want, p.placed("g")); diff != "" {
					t.Errorf("places by rack (-want +got):\n%s", diff)
				}
				placed := 0
				for _, pod := range pods {
					if got := p.filter(pod); p.cluster.Snapshot().NodeByName(got) != nil {
						placed++
					} else if !slices.Contains([]string{core.ReasonNoPlace, core.ReasonNoRoom}, got) {
						t.Errorf("%s is told %q", pod.Name, got)
					}
				}
				if int64(placed) != test.least {
					t.Errorf("%d members have places", placed)
				}
			})
		})
	}
}

// A member that is made again belongs where the others are, whatever room there is elsewhere.
func TestAMemberThatComesAgainGoesToTheRackOfTheOthers(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 2, "a/s": 9})
		group := podGroup("g", 4)
		annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
		pods := members("g", 4, "1")
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.start(pods...)
		p.after(time.Second)
		if got := p.placed("g"); got["a-r"] != 4 {
			t.Fatalf("it starts in %v", got)
		}
		p.delete(pods[3])
		again := members("g", 5, "1")[4]
		p.set(again)
		p.after(time.Second)
		if got := p.filter(again); !strings.HasPrefix(got, "a-r-") {
			t.Errorf("the new member is told %q", got)
		}
		p.delete(again)
		other := members("other", 2, "2")
		for i := range other {
			other[i].Labels = nil
			other[i].Spec.NodeName = fmt.Sprint("a-r-", i)
		}
		p.set(other[1]) // it takes what was free in the rack
		late := members("g", 6, "1")[5]
		p.set(late)
		p.after(time.Second)
		if got := p.filter(late); got != core.ReasonNoPlace {
			t.Errorf("a member is told %q where its rack is full", got)
		}
	})
}

func TestMembersOfSeveralKindsShareARack(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 3, "a/s": 4})
		for i := range 3 { // the rack that is tighter has no room for the large one
			small := members(fmt.Sprint("single-", i), 1, "1")[0]
			small.Labels, small.Spec.NodeName = nil, fmt.Sprint("a-r-", i)
			p.set(small)
		}
		group := podGroup("g", 2)
		annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
		pods := slices.Concat(members("g", 1, "1"), members("g-large", 1, "2"))
		pods[1].Labels = pods[0].Labels
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		if diff := cmp.Diff(map[string]int{"a-s": 2}, p.placed("g")); diff != "" {
			t.Errorf("places by rack (-want +got):\n%s", diff)
		}
	})
}

// The kind that is placed first takes what is best for itself, and knows nothing of the others.
func TestMembersOfSeveralKindsAreNearEachOther(t *testing.T) {
	for name, test := range map[string]struct {
		racks []string // with the CPUs of the node of each
		large int      // members of three CPUs, beside one of one
		want  map[string]int
	}{
		"one rack takes both": {[]string{"r 3", "s 7", "t 3"}, 1, map[string]int{"a-s": 2}},
		"two racks, and one takes both kinds": {
			[]string{"r 3", "s 3", "t 4"}, 2, map[string]int{"a-s": 1, "a-t": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				for _, of := range test.racks {
					rack, cpu, _ := strings.Cut(of, " ")
					p.set(inRack(node("a-"+rack+"-0", cpu), "a", rack))
				}
				group := podGroup("g", int64(test.large)+1)
				annotate(group, v1alpha1.AnnotationPreferredTopology, rackKey)
				pods := slices.Concat(members("g", test.large, "3"), members("g-small", 1, "1"))
				for _, pod := range pods {
					pod.Labels = pods[0].Labels
				}
				p.set(group)
				p.set(objects(pods)...)
				p.after(time.Second)
				p.filter(pods[0])
				if diff := cmp.Diff(test.want, p.placed("g")); diff != "" {
					t.Errorf("places by rack (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// Members that may not share a node are proven to fit one by one: the room of the nodes promises more.
func TestADivisionIsProven(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 79, "a/s": 80})
		group := podGroup("g", 80)
		annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
		pods := members("g", 80, "1", func(pod *corev1.Pod) {
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}, TopologyKey: corev1.LabelHostname,
				}},
			}}
		})
		p.set(group)
		p.set(objects(pods)...)
		for node := range p.cluster.Snapshot().Nodes() {
			labelled := node.DeepCopy()
			labelled.Labels[corev1.LabelHostname] = labelled.Name
			p.set(labelled)
		}
		p.after(time.Second)
		p.filter(pods[0])
		if diff := cmp.Diff(map[string]int{"a-s": 80}, p.placed("g")); diff != "" {
			t.Errorf("places by rack (-want +got):\n%s", diff)
		}
	})
}

// Members that come when the gang has started, though it may do without them, go where the others are.
func TestMembersBeyondTheMinimumGoToTheRackOfTheOthers(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 2, "a/s": 9})
		group := podGroup("g", 2)
		annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
		pods := members("g", 5, "1")
		p.set(group)
		p.set(objects(pods[:2])...)
		p.after(time.Second)
		p.start(pods[:2]...)
		p.after(time.Second)
		p.set(objects(pods[2:4])...)
		p.after(time.Second)
		for _, pod := range pods[2:4] {
			if got := p.filter(pod); !strings.HasPrefix(got, "a-r-") {
				t.Errorf("%s is told %q", pod.Name, got)
			}
		}
		p.start(pods[2:4]...)
		p.set(pods[4])
		p.after(time.Second)
		if got := p.filter(pods[4]); !slices.Contains([]string{core.ReasonNoPlace, core.ReasonNoRoom}, got) {
			t.Errorf("a member is told %q where its rack is full", got)
		}
	})
}

func TestAMemberBeyondTheMinimumIsWokenWhenItsRackHasRoomAndNotBefore(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 1, "a/s": 2})
		group := podGroup("g", 2)
		annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
		pods := members("g", 3, "1")
		p.set(group)
		p.set(objects(pods[:2])...)
		p.after(time.Second)
		p.start(pods[:2]...)
		p.written()
		tried(pods[2]) // before the watch showed it
		p.set(pods[2])
		p.after(time.Second)
		for range 10 {
			if got := p.filter(pods[2]); got != core.ReasonNoPlace && got != core.ReasonNoRoom {
				t.Errorf("it is told %q", got)
			}
			p.set(inRack(node("a-s-2", "9"), "a", "s"), rival("other", "9"))
			p.after(time.Second)
		}
		p.wrote("while there is room elsewhere")
		p.set(inRack(node("a-r-1", "1"), "a", "r"))
		p.after(time.Second)
		p.wrote("once there is room", "nominate g-2", "wake g-2")
		if got := p.filter(pods[2]); got != "a-r-1" {
			t.Errorf("it is told %q", got)
		}
	})
}

// The pods of an indexed Job have labels of their own, and are of one kind all the same.
func TestSlicesOfMembersWithLabelsOfTheirOwn(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 3, "a/s": 3})
		group := podGroup("g", 8)
		annotate(group, v1alpha1.AnnotationTopologySlices, "4@"+rackKey)
		pods := members("g", 8, "1")
		for i, pod := range pods {
			pod.Labels[batchv1.JobCompletionIndexAnnotation] = fmt.Sprint(i)
		}
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		got := p.filter(pods[0])
		if diff := cmp.Diff(map[string]int{"a-r": 4, "a-s": 4}, p.placed("g")); diff != "" {
			t.Errorf("places by rack (-want +got), and the first is told %q:\n%s", got, diff)
		}
	})
}

// A member that has succeeded leaves its slice, so that no node makes that whole again: who comes in another's place goes to
// any rack of the block.
func TestOnceAMemberHasSucceededNoSliceHasToBeWhole(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 2, "a/s": 2, "b/t": 3})
		group := podGroup("g", 8)
		annotate(group, v1alpha1.AnnotationRequiredTopology, blockKey)
		annotate(group, v1alpha1.AnnotationTopologySlices, "4@"+rackKey)
		pods := members("g", 8, "1")
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.start(pods...)
		p.after(time.Second)
		if diff := cmp.Diff(map[string]int{"a-r": 4, "a-s": 4}, p.placed("g")); diff != "" {
			t.Fatalf("it starts elsewhere (-want +got):\n%s", diff)
		}
		other := members("other", 1, "1")[0]
		other.Labels = nil
		for node := range p.cluster.Snapshot().Nodes() {
			if slices.ContainsFunc(node.Pods, func(pod *cluster.Pod) bool { return pod.UID == pods[7].UID }) {
				other.Spec.NodeName = node.Name
			}
		}
		p.finish(corev1.PodSucceeded, pods[7])
		p.set(other) // it takes what was free in the rack
		p.delete(pods[6])
		again := members("g", 9, "1")[8]
		p.set(again)
		p.after(time.Second)
		if got := p.filter(again); !strings.HasPrefix(got, "a-") {
			t.Errorf("the new member is told %q", got)
		}
	})
}

// A member leaves the room that is kept for it where the others do not fit beside it: all are placed as if it kept none.
func TestAMemberLeavesTheRackInWhichTheOthersHaveNoRoom(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 1, "a/s": 2})
		group := podGroup("g", 4)
		annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
		pods := members("g", 4, "1")
		gated(pods[0])
		nominatedBefore("a-r-0")(pods[0])
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[1])
		if diff := cmp.Diff(map[string]int{"a-s": 4}, p.placed("g")); diff != "" {
			t.Errorf("places by rack (-want +got):\n%s", diff)
		}
	})
}
