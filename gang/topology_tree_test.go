package gang

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

// near returns what a group or a group of groups asks for, with one domain of a level.
func near(asks cluster.Asks, parent, key string) cluster.Asks {
	if parent != "" {
		asks.Parent = composite(parent)
	}
	if key != "" {
		asks.Network = map[string]string{v1alpha1.AnnotationRequiredTopology: key}
	}
	return asks
}

// plantNear has the watch show a group with pods of one CPU, all in one domain of a level, "" for none.
func (p *process) plantNear(parent, group string, pods int, key string, change ...func(*corev1.Pod)) []*corev1.Pod {
	p.show("PodGroup", group, near(cluster.Asks{Roles: []cluster.Role{{Min: int32(pods), All: int32(pods)}}}, parent, key))
	all := members(group, pods, "1", append(change, native)...)
	p.set(objects(all)...)
	return all
}

func TestGroupsOfATreeShareADomain(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 1, "a/s": 3, "b/r": 2, "b/s": 3})
		p.show("CompositePodGroup", "root", near(cluster.Asks{Groups: 2}, "", blockKey))
		first, second := p.plantNear("root", "first", 4, rackKey), p.plantNear("root", "second", 6, rackKey)
		p.after(time.Second)
		p.filter(first[0])
		if diff := cmp.Diff(map[string]int{"b-r": 4}, p.placed("first")); diff != "" {
			t.Errorf("places of the first group by rack (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"b-s": 6}, p.placed("second")); diff != "" {
			t.Errorf("places of the second group by rack (-want +got):\n%s", diff)
		}
		p.start(slices.Concat(first, second)...)

		// A group that comes later goes to the block of the others, and waits while there is no room.
		third := p.plantNear("root", "third", 2, "")
		p.after(time.Second)
		if got := p.filter(third[0]); got != core.ReasonNoPlace {
			t.Errorf("a member is told %q where the block of its tree is full", got)
		}
		const why = "places for 0 of 2 members; of 1 domains by example.com/block, b has the most room: for 0"
		if got := p.Observer.About(types.NamespacedName{Namespace: "default", Name: "third"})[0].Why; got != why {
			t.Errorf("it waits as %q, want %q", got, why)
		}
		p.racks(map[string]int{"a/t": 1, "b/t": 1})
		p.after(time.Second)
		if got := p.filter(third[0]); !strings.HasPrefix(got, "b-t-") {
			t.Errorf("a member is told %q once there is room in its block", got)
		}
	})
}

// Room that a former process has kept for groups in two blocks is left for room in one.
func TestGroupsOfATreeLeaveRoomThatIsApart(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 2, "b/r": 3})
		p.show("CompositePodGroup", "root", near(cluster.Asks{Groups: 2}, "", blockKey))
		first := p.plantNear("root", "first", 2, "", gated, nominatedBefore("a-r-0"))
		p.plantNear("root", "second", 3, "", gated, nominatedBefore("b-r-0"))
		p.after(time.Second)
		p.filter(first[0])
		for group, pods := range map[string]int{"first": 2, "second": 3} {
			if diff := cmp.Diff(map[string]int{"b-r": pods}, p.placed(group)); diff != "" {
				t.Errorf("places of the %s group by rack (-want +got):\n%s", group, diff)
			}
		}
	})
}

// Roles of an owner start together, or one after the other has started: in one block.
func TestRolesOfAnOwnerShareADomain(t *testing.T) {
	for name, apart := range map[string]bool{"together": false, "one after the other": true} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.racks(map[string]int{"a/r": 2, "a/s": 1, "b/r": 2, "b/s": 2})
				of := schema.GroupKind{Group: "kubeflow.org", Kind: "PyTorchJob"}
				p.cluster.Owners.Handler(of).Set(cluster.NewOwner(of, &metav1.ObjectMeta{Namespace: "default", Name: "torch", UID: "torch"}, near(
					cluster.Asks{Roles: []cluster.Role{{Name: "master", Min: 2, All: 2}, {Name: "worker", Min: 3, All: 4}}, Apart: apart}, "", blockKey)))
				var pods []*corev1.Pod
				for role, count := range map[string]int{"master": 2, "worker": 3} {
					pods = append(pods, members(role, count, "1", func(pod *corev1.Pod) {
						pod.Labels = map[string]string{"training.kubeflow.org/replica-type": role}
						pod.OwnerReferences = []metav1.OwnerReference{{
							APIVersion: "kubeflow.org/v1", Kind: of.Kind, Name: "torch", UID: "torch", Controller: new(true),
						}}
					})...)
				}
				slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
				p.set(objects(pods)...)
				p.after(time.Second)
				for _, pod := range pods {
					if got := p.filter(pod); !strings.HasPrefix(got, "a-") {
						t.Errorf("%s is told %q", pod.Name, got)
					}
					if apart {
						p.after(time.Second)
					}
				}
				for role, want := range map[string]int{"master": 2, "worker": 3} {
					if got := p.placed("torch/" + role); got["a-r"]+got["a-s"] != want {
						t.Errorf("places of role %s by rack: %v, want %d in block a", role, got, want)
					}
				}
			})
		})
	}
}

// Pods of a tree run in two blocks, as a node has got another label: what comes later goes anywhere.
func TestATreeThatIsTornGoesOn(t *testing.T) {
	for _, way := range []config.Gates{config.GatesNever, config.GatesUntilPlace} {
		t.Run(string(way), func(t *testing.T) {
			runBy(t, clock.RealClock{}, way, func(p *process) {
				p.racks(map[string]int{"a/r": 2, "b/r": 2})
				p.show("CompositePodGroup", "root", near(cluster.Asks{Groups: 2}, "", blockKey))
				for i, name := range []string{"first", "second"} {
					p.plantNear("root", name, 2, "", on([]string{"a-r-0", "b-r-0"}[i]))
				}
				var late []*corev1.Pod
				if way == config.GatesNever {
					late = p.plantNear("root", "third", 3, "")
				} else {
					late = p.plantNear("root", "third", 3, "", gated)
				}
				p.after(time.Second)
				if way == config.GatesNever {
					p.filter(late[0])
				}
				p.after(20 * time.Second)
				places := 0
				for _, count := range p.placed("third") {
					places += count
				}
				if places != len(late) {
					t.Errorf("%d members have places, want %d", places, len(late))
				}
			})
		})
	}
}

// Groups that only prefer to share a block are placed without one where there is room in none, and told what each lacks.
func TestGroupsThatPreferADomainAreToldWhatEachLacks(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 1, "b/r": 1})
		asks := cluster.Asks{Groups: 2, Network: map[string]string{v1alpha1.AnnotationPreferredTopology: blockKey}}
		p.show("CompositePodGroup", "root", asks)
		first := p.plantNear("root", "first", 2, "")
		p.plantNear("root", "second", 3, "")
		p.after(time.Second)
		if got := p.filter(first[0]); got != core.ReasonNoPlace {
			t.Errorf("a member is told %q where there is room for four of five", got)
		}
		const why = "places for 2 of 3 members; beside the others, 2 of 2 nodes: Insufficient cpu"
		if got := p.why("first"); !strings.HasPrefix(got, why) {
			t.Errorf("it waits as %q, want %q", got, why)
		}
	})
}
