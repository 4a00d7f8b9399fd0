package gang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// lists returns a Topology of an API group.
func lists(group, name string, keys ...string) runtime.Object {
	t := &cluster.Topology{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Kind: "Topology"})
	for _, key := range keys {
		alias := ""
		if group == v1alpha1.GroupKAI {
			alias = strings.TrimPrefix(key, "example.com/")
		}
		t.Levels = append(t.Levels, v1alpha1.TopologyLevel{Key: key, Alias: alias})
	}
	return t
}

func TestDomainsAreToldApartByTheLevelsThatAnObjectLists(t *testing.T) {
	const (
		kueue, kai = v1alpha1.GroupKueue, v1alpha1.GroupKAI
		notAbove   = "example.com/hall"
	)
	inRacks := map[string]string{v1alpha1.AnnotationRequiredTopology: rackKey}
	byKAI := func(network, level string) map[string]string {
		return map[string]string{v1alpha1.AnnotationKAITopology: network, v1alpha1.AnnotationKAIRequiredTopology: level}
	}
	for name, test := range map[string]struct {
		nodes   map[string]int
		objects []runtime.Object
		asks    map[string]string
		want    map[string]int
		why     string
	}{
		"racks of two blocks have one name": {
			map[string]int{"a/r": 1, "b/r": 1, "b/s": 3},
			[]runtime.Object{lists(kueue, "n", blockKey, rackKey, corev1.LabelHostname)},
			inRacks,
			map[string]int{"b-s": 4},
			"",
		},
		"nobody says that they are two": {map[string]int{"a/r": 1, "b/r": 1, "b/s": 3}, nil, inRacks, map[string]int{"a-r": 2, "b-r": 2}, ""},
		"the level is not listed": {
			map[string]int{"a/r": 1, "b/r": 1, "b/s": 3},
			[]runtime.Object{lists(kueue, "n", blockKey)},
			inRacks,
			map[string]int{"a-r": 2, "b-r": 2},
			"",
		},
		"two objects say the same about the level": {
			map[string]int{"a/r": 1, "b/r": 1, "b/s": 3},
			[]runtime.Object{lists(kueue, "n", blockKey, rackKey), lists(kai, "n", blockKey, rackKey, corev1.LabelHostname)},
			inRacks,
			map[string]int{"b-s": 4},
			"",
		},
		"two objects do not": {
			map[string]int{"a/r": 1, "b/r": 1, "b/s": 3},
			[]runtime.Object{lists(kueue, "n", blockKey, rackKey), lists(kueue, "m", notAbove, rackKey)},
			inRacks,
			map[string]int{"a-r": 2, "b-r": 2},
			"",
		},
		"the one that is named": {
			map[string]int{"a/r": 1, "b/r": 1, "b/s": 3},
			[]runtime.Object{lists(kai, "n", blockKey, rackKey), lists(kai, "m", notAbove, rackKey)},
			byKAI("n", rackKey),
			map[string]int{"b-s": 4},
			"",
		},
		"a level by its other name": {
			map[string]int{"a/r": 1, "b/r": 1, "b/s": 3},
			[]runtime.Object{lists(kai, "n", blockKey, rackKey)},
			byKAI("n", "rack"),
			map[string]int{"b-s": 4},
			"",
		},
		"no node has all labels": {
			map[string]int{"a/r": 1, "b/r": 1, "b/s": 3},
			[]runtime.Object{lists(kai, "m", notAbove, rackKey)},
			byKAI("m", rackKey),
			map[string]int{},
			"places for 0 of 4 members; there are no domains by example.com/rack that have all members",
		},
		"a Topology that does not exist": {
			map[string]int{"a/r": 1},
			[]runtime.Object{lists(kueue, "n", blockKey, rackKey)},
			byKAI("n", "rack"),
			map[string]int{},
			"places for 0 of 4 members; there are no domains by rack that have all members; there is no Topology n of kai.scheduler",
		},
		"a level that the Topology lacks": {
			map[string]int{"a/r": 1},
			[]runtime.Object{lists(kai, "n", blockKey)},
			byKAI("n", "rack"),
			map[string]int{},
			"places for 0 of 4 members; there are no domains by rack that have all members; Topology n does not list all of rack",
		},
		"few nodes of few racks of few blocks": {
			map[string]int{"a/r": 1, "a/s": 1, "b/t": 1, "b/u": 1, "c/v": 1, "c/w": 2},
			[]runtime.Object{lists(kueue, "n", blockKey, rackKey)},
			map[string]string{v1alpha1.AnnotationKueuePreferredTopology: corev1.LabelHostname},
			map[string]int{"c-w": 4},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(test.objects...)
				p.racks(test.nodes)
				group := podGroup("g", 4)
				group.SetAnnotations(test.asks)
				p.set(group)
				pods := members("g", 4, "1")
				p.set(objects(pods)...)
				p.after(time.Second)
				p.filter(pods[0])
				p.placedIn("g", test.want)
				if why := p.why("g"); test.why != "" && why != test.why {
					t.Errorf("it waits as %q, want %q", why, test.why)
				}
			})
		})
	}
}

// A gang that waits is planned again when an object comes that lists its level.
func TestAGangIsPlannedAgainWhenATopologyComes(t *testing.T) {
	run(t, func(p *process) {
		p.racks(map[string]int{"a/r": 2})
		group := podGroup("g", 4)
		group.SetAnnotations(map[string]string{v1alpha1.AnnotationKAITopology: "n", v1alpha1.AnnotationKAIRequiredTopology: "rack"})
		pods := members("g", 4, "1")
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		p.placedIn("g", map[string]int{})
		p.set(lists(v1alpha1.GroupKAI, "n", blockKey, rackKey))
		p.after(time.Minute)
		p.filter(pods[0])
		p.placedIn("g", map[string]int{"a-r": 4})
	})
}

// What a Topology calls a level is no key of a label for a gang that names no Topology.
func TestAnAliasStandsForALevelOnlyWhereTheTopologyIsNamed(t *testing.T) {
	run(t, func(p *process) {
		for i := range 4 {
			n := inRack(node(fmt.Sprint("a-x-", i), "1"), "a", fmt.Sprint("r", i))
			n.Labels["rack"] = "one"
			p.set(n)
		}
		p.set(lists(v1alpha1.GroupKAI, "n", blockKey, rackKey))
		group := podGroup("g", 4)
		annotate(group, v1alpha1.AnnotationRequiredTopology, "rack")
		pods := members("g", 4, "1")
		p.set(group)
		p.set(objects(pods)...)
		p.after(time.Second)
		p.filter(pods[0])
		p.placedIn("g", map[string]int{"a-x": 4})
	})
}
