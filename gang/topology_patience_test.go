package gang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Racks a and c have room for two members each, and rack b for four once its pods end.
func TestAGangWaitsForTheRackThatItPrefers(t *testing.T) {
	for name, test := range map[string]struct {
		asks    map[string]string
		members int
		free    time.Duration // when the pods of rack b end, 0 for never
		until   time.Duration // it has no place
		want    map[string]int
		why     string // it waits
	}{
		"it comes free": {
			asks: map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey}, members: 4,
			free: time.Minute, until: time.Minute, want: map[string]int{"x-b": 4},
			why: "it waits for one domain by example.com/rack (muster.dev/topology-wait-for): places for 2 of 4 members",
		},
		"it does not": {
			asks: map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey}, members: 4,
			until: 5 * time.Minute, want: map[string]int{"x-a": 2, "x-c": 2},
		},
		"it comes free too late": {
			asks: map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey, v1alpha1.AnnotationTopologyWaitFor: "30s"}, members: 4,
			free: time.Minute, until: 30 * time.Second, want: map[string]int{"x-a": 2, "x-c": 2},
		},
		"a block is required": {
			asks:    map[string]string{v1alpha1.AnnotationRequiredTopology: blockKey, v1alpha1.AnnotationPreferredTopology: rackKey},
			members: 4, until: 5 * time.Minute, want: map[string]int{"x-a": 2, "x-c": 2},
		},
		"it does not want to wait": {
			asks:    map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey, v1alpha1.AnnotationTopologyWaitFor: "0s"},
			members: 4, want: map[string]int{"x-a": 2, "x-c": 2},
		},
		"Kueue's words": {
			asks: map[string]string{v1alpha1.AnnotationKueuePreferredTopology: rackKey}, members: 4, want: map[string]int{"x-a": 2, "x-c": 2},
		},
		"there is one": {asks: map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey}, members: 2, want: map[string]int{"x-a": 2}},
		"none is so large": {
			asks: map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey}, members: 5, free: time.Second,
			want: map[string]int{"x-b": 3, "x-a": 2},
		},
		"no node is so large": {
			asks: map[string]string{v1alpha1.AnnotationPreferredTopology: corev1.LabelHostname}, members: 3,
			want: map[string]int{"x-a": 2, "x-c": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				busy := p.busyRack()
				group := podGroup("g", int64(test.members))
				group.SetAnnotations(test.asks)
				pods := members("g", test.members, "1")
				p.set(group)
				if test.free == time.Second { // before it comes
					p.delete(busy...)
				}
				p.set(objects(pods)...)
				p.after(time.Second)
				for passed := time.Second; passed < test.until; passed += 10 * time.Second {
					p.filter(pods[0])
					if got := p.placed("g"); len(got) > 0 {
						t.Fatalf("after %s it has places: %v", passed, got)
					}
					if why := p.why("g"); !strings.Contains(why, test.why) {
						t.Fatalf("it waits as %q, want %q", why, test.why)
					}
					if p.after(10 * time.Second); passed < test.free && test.free <= passed+10*time.Second {
						p.delete(busy...)
						p.after(time.Second)
						break
					}
				}
				p.after(2 * time.Second)
				p.filter(pods[0])
				p.placedIn("g", test.want)
			})
		})
	}
}

// busyRack sets nodes with room for one member each: racks a and c have two of them, and rack b has four, whose pods it returns.
func (p *process) busyRack() (busy []*corev1.Pod) {
	p.Helper()
	for i, rack := range []string{"a", "a", "b", "b", "b", "b", "c", "c"} {
		p.set(inRack(node(fmt.Sprintf("x-%s-%d", rack, i), "1"), "x", rack))
	}
	nodes := map[string]string{"busy-0": "x-b-2", "busy-1": "x-b-3", "busy-2": "x-b-4", "busy-3": "x-b-5"}
	busy = members("busy", 4, "1", alone, func(pod *corev1.Pod) { pod.Spec.NodeName = nodes[pod.Name] })
	p.set(objects(busy)...)
	return busy
}

func TestAGangThatIsToldNotToWaitDoesNot(t *testing.T) {
	run(t, func(p *process) {
		p.busyRack()
		group := podGroup("g", 4)
		group.SetAnnotations(map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey, v1alpha1.AnnotationTopologyWaitFor: "100h"})
		pods := members("g", 4, "1")
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		p.placedIn("g", map[string]int{})
		group = group.DeepCopy()
		group.SetAnnotations(map[string]string{v1alpha1.AnnotationPreferredTopology: rackKey, v1alpha1.AnnotationTopologyWaitFor: "0s"})
		p.set(group)
		p.after(2 * time.Second)
		p.filter(pods[0])
		p.placedIn("g", map[string]int{"x-a": 2, "x-c": 2})
	})
}

// A member that fits on no node says nothing of whether the others may be in one rack.
func TestAMemberThatFitsNowhereEndsNoWait(t *testing.T) {
	run(t, func(p *process) {
		p.busyRack()
		group := podGroup("g", 4)
		annotate(group, v1alpha1.AnnotationPreferredTopology, rackKey)
		nowhere := members("a", 1, "1", func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"gpu": "yes"} })[0]
		pods := members("g", 4, "1")
		nowhere.Labels = pods[0].Labels
		p.set(group, nowhere)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		p.placedIn("g", map[string]int{})
	})
}
