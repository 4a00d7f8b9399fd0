package gang

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// evicted are the pods that the scheduler is told to evict when it asks about each of some members.
func (p *process) evicted(pods []*corev1.Pod) (names []string) {
	p.Helper()
	for _, pod := range pods {
		if _, victims, some := strings.Cut(p.preempt(pod), ": "); some {
			names = append(names, strings.Fields(victims)...)
		}
	}
	slices.Sort(names)
	return names
}

// Racks a and c have two free nodes each, and the four of rack b are busy, see [process.busyRack].
func TestVictimsOfAGangAreInOneRack(t *testing.T) {
	all := []string{"busy-0", "busy-1", "busy-2", "busy-3"}
	for name, test := range map[string]struct {
		asks    map[string]string
		members int
		given   func(p *process)
		want    []string
		placed  map[string]int
		why     string
	}{
		"though there is room in sum": {
			asks: map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey}, members: 4, want: all, placed: map[string]int{"x-b": 4},
		},
		"no more of them than must go": {
			asks: map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey}, members: 3,
			given:  func(p *process) { p.delete(members("busy", 1, "1")...) },
			want:   []string{"busy-1", "busy-2"},
			placed: map[string]int{"x-b": 3},
		},
		"where members are already": {
			asks: map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey}, members: 3,
			given: func(p *process) {
				there := members("g", 2, "1", ofPriority(10))
				on("x-a-0")(there[1])
				p.set(there[1], members("here", 1, "1", alone, on("x-a-1"))[0])
				p.set(inRack(node("x-a-9", "1"), "x", "a"))
			},
			want:   []string{"here-0"},
			placed: map[string]int{"x-a": 3},
		},
		"nobody while a node is gone on which a member runs": {
			asks: map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey}, members: 4,
			given: func(p *process) {
				there := members("g", 2, "1", ofPriority(10))
				on("x-a-9")(there[1])
				p.set(there[1])
			},
			placed: map[string]int{"x-a": 1},
			why:    "members run on node x-a-9, which is not there: where the others have to be is not known",
		},
		"none is large enough": {
			asks: map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey}, members: 5, placed: map[string]int{},
			why: "places for 2 of 5 members; of 3 domains by example.com/rack, a has the most room: for 2; if all went that may be evicted: " +
				"places for 4 of 5 members; of 3 domains by example.com/rack, b has the most room: for 4",
		},
		"nobody for a rack that is preferred": {
			asks: map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey}, members: 4, placed: map[string]int{},
			why: "for 2; if all went that may be evicted: nobody is evicted for a domain that is only preferred",
		},
		"who has to go anyway, for a rack that is preferred": {
			asks: map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey}, members: 4,
			given: func(p *process) {
				for i, name := range []string{"x-a-0", "x-a-1", "x-c-6", "x-c-7"} {
					pod := members("high", i+1, "1", alone, on(name), ofPriority(10))[i]
					p.set(pod)
				}
			},
			want: all, placed: map[string]int{"x-b": 4},
		},
		"nobody waits for a rack that is preferred where none is large enough": {
			asks: map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey}, members: 5,
			given: func(p *process) {
				p.set(members("low", 1, "1", alone, on("x-a-0"), ofPriority(-1))[0])
				p.delete(members("busy", 1, "1")...)
				p.set(members("high", 1, "1", alone, on("x-b-2"), ofPriority(10))[0])
			},
			want: []string{"busy-1", "low-0"}, placed: map[string]int{"x-a": 2, "x-b": 1, "x-c": 2},
		},
		"slices": {
			asks: map[string]string{v1alpha1.AnnotationTopologySlices: "4@" + rackKey}, members: 4, placed: map[string]int{},
			why: "nobody is evicted yet for gangs that are divided: into slices or shares, or evenly",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.busyRack()
				if test.given != nil {
					test.given(p)
				}
				group := podGroup("g", int64(test.members))
				group.SetAnnotations(test.asks)
				p.set(group)
				var pods []*corev1.Pod
				for _, pod := range members("g", test.members, "1", ofPriority(10)) {
					if p.cluster.PlaceOf(pod.UID) == "" {
						pods = append(pods, pod)
					}
				}
				p.set(objects(pods)...)
				p.after(time.Second)
				p.filter(pods[0])
				if diff := cmp.Diff(test.want, p.evicted(pods)); diff != "" {
					t.Errorf("victims (-want +got), and it waits as %q:\n%s", p.why("g"), diff)
				}
				p.placedIn("g", test.placed)
				if why := p.why("g"); !strings.HasSuffix(why, test.why) {
					t.Errorf("it waits as %q, want %q", why, test.why)
				}
			})
		})
	}
}

// Room that is kept for members in a rack holds none of them there where the others have no room, even if all go that may.
func TestVictimsAreInAnotherRackThanWhereRoomIsKept(t *testing.T) {
	for name, nodes := range map[string][]string{"in one rack": {"x-a-0"}, "in two": {"x-a-0", "x-c-6"}} {
		t.Run(name, func(t *testing.T) {
			runAhead(t, func(p *process) {
				p.busyRack()
				group := podGroup("g", 4)
				annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
				pods := members("g", 4, "1", gated, ofPriority(10))
				for i, node := range nodes {
					nominatedBefore(node)(pods[i])
				}
				p.set(group)
				p.set(objects(pods)...)
				p.after(5 * time.Second)
				p.placedIn("g", map[string]int{"x-b": 4})
			})
		})
	}
}

// Groups of a tree share a rack: the one whose pods have to go, and not the one that has room for each of them alone.
func TestVictimsOfGroupsOfATreeAreInOneRack(t *testing.T) {
	for name, test := range map[string]struct {
		key    string // of the level that each group asks for by itself
		want   []string
		placed int
	}{
		"shared alone":              {want: []string{"busy-0", "busy-1", "busy-2", "busy-3"}, placed: 2},
		"each asks for another one": {key: rackKey},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.busyRack()
				p.show("CompositePodGroup", "root", near(cluster.Asks{Groups: 2}, "", rackKey))
				pods := slices.Concat(
					p.plantNear("root", "first", 2, test.key, ofPriority(10)), p.plantNear("root", "second", 2, test.key, ofPriority(10)),
				)
				p.after(time.Second)
				p.filter(pods[0])
				if diff := cmp.Diff(test.want, p.evicted(pods)); diff != "" {
					t.Errorf("victims (-want +got), and it waits as %q:\n%s", p.why("first"), diff)
				}
				for _, group := range []string{"first", "second"} {
					if got := p.placed(group)["x-b"]; got != test.placed {
						t.Errorf("%d members of the %s group have places in the rack, want %d", got, group, test.placed)
					}
				}
			})
		})
	}
}
