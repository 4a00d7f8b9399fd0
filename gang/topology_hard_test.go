package gang

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

// Room for more pods on a node than it takes tempts a search onto few nodes, where all but one are refused.
func TestMembersThatKeepEachOtherOffANodeHavePlaces(t *testing.T) {
	for name, apart := range map[string]func(*corev1.Pod){
		"by a port of the host": func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 22, ContainerPort: 22}}
		},
		"by anti-affinity": func(pod *corev1.Pod) {
			pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}, TopologyKey: corev1.LabelHostname,
				}},
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				for i := range 100 {
					n := inRack(node(fmt.Sprint("a-r-", i), "8"), "a", "r")
					n.Labels[corev1.LabelHostname] = n.Name
					p.set(n)
				}
				group := podGroup("g", 8)
				annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
				pods := members("g", 8, "1", apart)
				p.set(group)
				p.set(objects(pods)...)
				p.after(time.Second)
				p.filter(pods[0])
				p.placedIn("g", map[string]int{"a-r": 8})
			})
		})
	}
}

// placedIn fails unless members of a group have places in racks like that.
func (p *process) placedIn(group string, want map[string]int) {
	p.Helper()
	if diff := cmp.Diff(want, p.placed(group)); diff != "" {
		p.Errorf("places by rack (-want +got), and it waits as %q:\n%s", p.why(group), diff)
	}
}

func TestAGangOfSeveralKindsHasPlaces(t *testing.T) {
	nowhere := members("a", 1, "1", func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"gpu": "yes"} })[0]
	small, large := map[string]int{"a/z": 8}, map[string]int{"a/r": 3}
	for i := range 70 {
		small[fmt.Sprint("a/s", i)] = 1
	}
	for name, test := range map[string]struct {
		racks map[string]int
		first *corev1.Pod // of the gang, and others are alike
		least int64
		want  map[string]int
	}{
		"where many racks have room for the first alone": {
			small, members("a", 1, "500m")[0], 8, map[string]int{"a-z": 8},
		},
		"though the first fits nowhere, and enough others do": {
			large, nowhere, 5, map[string]int{"a-r": 6},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.racks(test.racks)
				group := podGroup("g", test.least)
				annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
				pods := members("g", 7, "1")
				first := test.first.DeepCopy()
				first.Labels = pods[0].Labels
				p.set(group)
				p.set(first)
				p.after(time.Millisecond)
				p.set(objects(pods)...)
				p.after(time.Second)
				p.filter(pods[0])
				p.placedIn("g", test.want)
			})
		})
	}
}

// A level that is preferred makes nobody wait: without places near each other any will do.
func TestAPreferenceKeepsNobodyFromStarting(t *testing.T) {
	run(t, func(p *process) {
		first := inRack(node("a-r-0", "2"), "a", "r")
		first.Labels["gpu"] = "yes"
		p.set(first, inRack(node("a-r-1", "3"), "a", "r"))
		group := podGroup("g", 2)
		annotate(group, v1alpha1.AnnotationPreferredTopology, rackKey)
		large := members("g-large", 1, "2", func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"gpu": "yes"} })
		pods := slices.Concat(members("g", 1, "1"), large)
		pods[1].Labels = pods[0].Labels
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		p.placedIn("g", map[string]int{"a-r": 2})
	})
}

func TestSlicesNeedNodesWithTheLabel(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/": 4, "a/r": 2, "b/": 4})
		group := podGroup("g", 16)
		annotate(group, v1alpha1.AnnotationTopologySlices, "16@"+rackKey)
		pods := members("g", 16, "1")
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		p.placedIn("g", map[string]int{})
	})
}

// Room that a former process has kept counts only where it is in one rack.
func TestMembersStayInOneRackOnly(t *testing.T) {
	for name, test := range map[string]struct {
		nodes map[string]int
		on    []string // nodes that members are nominated to
		but   string   // where no member has a place
	}{
		"two racks":           {map[string]int{"a/r": 2, "a/s": 2}, []string{"a-r-0", "a-s-0"}, ""},
		"nodes in no rack":    {map[string]int{"a/": 2, "a/t": 4}, []string{"a--0", "a--0", "a--1", "a--1"}, "a-"},
		"a rack, and no rack": {map[string]int{"a/": 2, "a/t": 4}, []string{"a--0", "a-t-0"}, "a-"},
	} {
		t.Run(name, func(t *testing.T) {
			runAhead(t, func(p *process) {
				p.racks(test.nodes)
				group := podGroup("g", int64(len(test.on)))
				annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
				pods := members("g", len(test.on), "1", gated)
				for i, node := range test.on {
					nominatedBefore(node)(pods[i])
				}
				p.set(group)
				p.set(objects(pods)...)
				p.after(25 * time.Second)
				if racks := p.placed("g"); len(racks) != 1 || test.but != "" && racks[test.but] > 0 {
					t.Errorf("the gang has places in %v", racks)
				}
			})
		})
	}
}

// kube-scheduler would evict pods of another rack, where the member may not go.
func TestNobodyIsEvictedForAMemberBeyondTheMinimum(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 1, "a/s": 1})
		p.set(members("low", 1, "2", alone, on("a-s-0"), ofPriority(-1))[0])
		group := podGroup("g", 2)
		annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
		pods := members("g", 3, "1", ofPriority(10))
		p.set(group)
		p.set(objects(pods[:2])...)
		p.after(time.Second)
		p.start(pods[:2]...)
		p.after(time.Second)
		p.set(pods[2])
		p.after(time.Second)
		if got := p.filter(pods[2]); !slices.Contains([]string{core.ReasonNoPlace, core.ReasonNoRoom}, got) {
			t.Errorf("the member is told %q", got)
		}
		if got := p.preempt(pods[2]); got != "" {
			t.Errorf("to be evicted: %s", got)
		}
	})
}

// Nobody but muster knows where a gated member may go.
func TestAGatedMemberWithoutRoomInItsRackIsNotLetGo(t *testing.T) {
	runAhead(t, func(p *process) {
		p.racks(map[string]int{"a/r": 1, "a/s": 9})
		group := podGroup("g", 2)
		annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
		pods := members("g", 3, "1", gated)
		p.set(group)
		p.set(objects(pods[:2])...)
		p.after(time.Second)
		p.after(time.Second)
		p.written()
		p.set(pods[2])
		p.after(5 * time.Second)
		p.after(5 * time.Second)
		if written := strings.Join(p.written(), "\n"); strings.Contains(written, "lift g-2") {
			t.Errorf("written: %s", written)
		}
	})
}

// A node is in another rack, by its label, than when the gang was planned there.
func TestAGangWhoseRackFallsApartBeforeItStartsIsPlannedAgain(t *testing.T) {
	for name, ask := range map[string]func(p *process) []*corev1.Pod{
		"by itself": func(p *process) []*corev1.Pod {
			group := podGroup("g", 4)
			annotate(group, v1alpha1.AnnotationRequiredTopology, rackKey)
			pods := members("g", 4, "1", gated)
			p.set(group)
			p.set(objects(pods)...)
			return pods
		},
		"with others": func(p *process) []*corev1.Pod {
			p.show("CompositePodGroup", "root", near(cluster.Asks{Groups: 2}, "", rackKey))
			return append(p.plantNear("root", "first", 2, "", gated), p.plantNear("root", "second", 2, "", gated)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			runAhead(t, func(p *process) {
				p.racks(map[string]int{"a/r": 2, "a/s": 3})
				p.set(rival("other", "9"))
				pods := ask(p)
				p.after(100 * time.Millisecond)
				p.written()
				p.set(inRack(node("a-r-0", "2"), "a", "t"))
				p.after(20 * time.Second)
				p.after(20 * time.Second)
				lifted := 0
				for _, write := range p.written() {
					if strings.HasPrefix(write, "lift ") {
						lifted++
					}
				}
				if lifted != len(pods) {
					t.Errorf("%d gates are lifted, want %d", lifted, len(pods))
				}
				for _, pod := range pods {
					if on := p.latest(pod).Status.NominatedNodeName; !strings.HasPrefix(on, "a-s-") {
						t.Errorf("pod %s is nominated to %q, want the rack that is whole", pod.Name, on)
					}
				}
			})
		})
	}
}

// A node that goes takes what shows where its members are with it: another one does not start in another domain, nor is anybody evicted
// there, until the node is back or its pods are gone.
func TestAMemberWaitsWhileNothingShowsWhereTheOthersAre(t *testing.T) {
	const (
		required, preferred = v1alpha1.AnnotationRequiredTopology, v1alpha1.AnnotationPreferredTopology
		slice               = v1alpha1.AnnotationTopologySlices
	)
	for name, ask := range map[string]struct {
		key, value string // of an annotation
		least      int64
		running    []string // the nodes of members
		waits      bool
	}{
		"in one rack":                         {required, rackKey, 2, []string{"a-r-0"}, true},
		"in one rack, beyond the minimum":     {required, rackKey, 1, []string{"a-r-0"}, true},
		"in one rack, which another shows":    {required, rackKey, 3, []string{"a-r-0", "a-r-1"}, false},
		"in slices":                           {slice, "2@" + rackKey, 4, []string{"a-r-0", "a-r-1"}, true},
		"in a rack if there is room":          {preferred, rackKey, 2, []string{"a-r-0"}, false},
		"in the rack of the groups of a tree": {least: 2, running: []string{"a-r-0"}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.racks(map[string]int{"a/r": 4, "a/s": 9})
				pods := members("g", 4, "1")
				late := pods[2:]
				if ask.key == "" {
					p.show("CompositePodGroup", "root", near(cluster.Asks{Groups: 2}, "", rackKey))
					p.plantNear("root", "first", 1, "", on(ask.running[0]))
				} else {
					group := podGroup("g", ask.least)
					annotate(group, ask.key, ask.value)
					p.set(group)
					for i, node := range ask.running {
						on(node)(pods[i])
						p.set(pods[i])
					}
				}
				p.after(time.Second)
				if err := p.cluster.Delete(node("a-r-0", "2")); err != nil {
					t.Fatal(err)
				}
				if ask.key == "" {
					late = p.plantNear("root", "g", 2, "")
				} else {
					p.set(objects(late)...)
				}
				p.after(time.Second)
				got := p.filter(late[0])
				if waits := got == core.ReasonNoPlace || got == core.ReasonNoRoom; waits != ask.waits {
					t.Errorf("while the node is gone, a member is told %q", got)
				}
				if !ask.waits {
					return
				}
				const why = "members run on node a-r-0, which is not there: where the others have to be is not known"
				if got := p.why("g"); ask.least > int64(len(ask.running)) && got != why {
					t.Errorf("it waits as %q, want %q", got, why)
				}
				p.racks(map[string]int{"a/r": 1})
				p.after(time.Second)
				if got := p.filter(late[0]); !strings.HasPrefix(got, "a-r-") {
					t.Errorf("once the node is back, a member is told %q", got)
				}
			})
		})
	}
}

// Kueue's topology-aware scheduling pins each pod to the node that it has chosen by the annotations.
func TestWhatKueueHasPinnedIsPlacedAsItIs(t *testing.T) {
	run(t, func(p *process) {
		for i := range 4 {
			n := inRack(node(fmt.Sprint("a-r-", i), "2"), "a", "r")
			n.Labels[corev1.LabelHostname] = n.Name
			p.set(n)
		}
		pods := members("g", 8, "1", withoutObject("g", "8"))
		for i, pod := range pods {
			pod.Annotations[v1alpha1.AnnotationKueueRequiredTopology] = blockKey
			pod.Annotations[v1alpha1.AnnotationKueueSliceTopology] = rackKey
			pod.Annotations[v1alpha1.AnnotationKueueSliceSize] = "4"
			pod.Annotations[v1alpha1.AnnotationKueueWorkload] = "job-g"
			pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: fmt.Sprint("a-r-", i/2)}
		}
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		p.placedIn("g", map[string]int{"a-r": 8})
	})
}
