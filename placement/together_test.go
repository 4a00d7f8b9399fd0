package placement

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// TestGroupsThatFitTogetherArePlacedTogether holds what is found for up to nine groups of up to four pods against all ways
// to place them.
func TestGroupsThatFitTogetherArePlacedTogether(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c, store := newStore(t)
		var free []amount
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			has := amount{rapid.IntRange(1, 8).Draw(t, "cpus"), rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "gpus")}
			free = append(free, has)
			set(t, c, has.node(fmt.Sprint("node-", i)))
		}
		var demands []Demand
		var pods []*cluster.Pod
		var asked [][]amount
		var least []int
		for g := range rapid.IntRange(1, 9).Draw(t, "groups") {
			var members []*cluster.Pod
			var asks []amount
			for i := range rapid.IntRange(1, 4).Draw(t, "pods") {
				ask := amount{rapid.IntRange(1, 5).Draw(t, "cpu"), rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "gpu")}
				asks = append(asks, ask)
				members = append(members, cluster.NewPod(ask.pod(fmt.Sprint("pod-", g, "-", i))))
			}
			least = append(least, rapid.IntRange(0, len(members)).Draw(t, "at least"))
			demands = append(demands, Demand{Pods: members, AtLeast: least[g]})
			pods, asked = append(pods, members...), append(asked, asks)
		}

		plan := New(store, pods, rapid.Uint64().Draw(t, "seed"))
		defer plan.Close()
		got := plan.PlaceTogether(demands, time.Time{})

		can, known := fitTogether(free, demands, asked)
		if known && got.Kept != can && !got.Cut || got.Kept && got.Cut {
			t.Fatalf("placed together: %v, and whether they can be is %v: %v of %v on %v", got.Kept, can, least, asked, free)
		}
		placed := map[*cluster.Pod]bool{}
		for i, d := range demands {
			enough := 0
			if !got.Kept {
				break
			}
			for _, place := range slices.Concat(got.Enough[i].Places, got.More[i].Places) {
				if place.Node < 0 {
					continue
				}
				if placed[place.Pod] || !slices.Contains(d.Pods, place.Pod) || !holds(plan.Node(place.Node), place.Pod) {
					t.Fatalf("%s is on node %d by the result, and not by the plan", place.Pod.Name, place.Node)
				}
				placed[place.Pod] = true
				enough++
			}
			if enough < d.AtLeast {
				t.Fatalf("%d of at least %d have a place", enough, d.AtLeast)
			}
		}
		for node := range plan.Changed() {
			for _, pod := range node.Pods {
				if !placed[pod] {
					t.Fatalf("%s was left on %s", pod.Name, node.Name)
				}
			}
			if room(node).MilliCPU < 0 || len(node.Pods) > 0 && node.Requested.MilliCPU > node.Allocatable.MilliCPU {
				t.Fatalf("%s holds more than it has", node.Name)
			}
		}
	})
}

// amount is CPUs and GPUs.
type amount struct{ cpu, gpu int }

func (a amount) list() corev1.ResourceList {
	list := corev1.ResourceList{corev1.ResourceCPU: *resource.NewQuantity(int64(a.cpu), resource.DecimalSI)}
	if a.gpu > 0 {
		list[gpu] = *resource.NewQuantity(int64(a.gpu), resource.DecimalSI)
	}
	return list
}

func (a amount) node(name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	node.Status.Allocatable = a.list()
	node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	return node
}

// pod returns a pod that is alike with any other of its amount.
func (a amount) pod(name string) *corev1.Pod {
	pod := worker(0)
	pod.Name, pod.UID = name, types.UID(name)
	pod.OwnerReferences[0].UID = types.UID(fmt.Sprint("job-", a.cpu, "-", a.gpu))
	pod.Spec.Containers[0].Resources.Requests = a.list()
	return pod
}

// fitTogether tries every way to place enough of each group. It does not know where there are too many.
func fitTogether(free []amount, demands []Demand, asked [][]amount) (fit, known bool) {
	const most = 20_000
	failed := map[string]bool{}
	var place func(group, pod, missing int, free []amount) bool
	place = func(group, pod, missing int, free []amount) bool {
		if group == len(demands) {
			return true
		}
		if missing == 0 {
			if group++; group == len(demands) {
				return true
			}
			return place(group, 0, demands[group].AtLeast, free)
		}
		if len(asked[group])-pod < missing || len(failed) > most {
			return false
		}
		state := slices.Clone(free)
		slices.SortFunc(state, func(a, b amount) int { return (a.cpu-b.cpu)*100 + a.gpu - b.gpu })
		key := fmt.Sprint(group, pod, missing, state)
		if failed[key] {
			return false
		}
		ask := asked[group][pod]
		for i, has := range free {
			if has.cpu < ask.cpu || has.gpu < ask.gpu || slices.Contains(free[:i], has) {
				continue
			}
			after := slices.Clone(free)
			after[i] = amount{has.cpu - ask.cpu, has.gpu - ask.gpu}
			if place(group, pod+1, missing-1, after) {
				return true
			}
		}
		if place(group, pod+1, missing, free) {
			return true
		}
		failed[key] = true
		return false
	}
	fit = place(0, 0, demands[0].AtLeast, free)
	return fit, fit || len(failed) <= most
}

func TestTheLeastNumberOfEachGroupComesBeforeMoreOfAny(t *testing.T) {
	// The counter-example of KEP-6012: five units. A group of five pods needs two, and a group of two needs both.
	c, store := newStore(t)
	set(t, c, amount{cpu: 5}.node("node"))
	elastic, rigid := podsAsking(amount{cpu: 1}, "elastic", 5), podsAsking(amount{cpu: 1}, "rigid", 2)
	plan := New(store, slices.Concat(elastic, rigid), 1)
	defer plan.Close()
	got := plan.PlaceTogether([]Demand{{Pods: elastic, AtLeast: 2}, {Pods: rigid, AtLeast: 2}}, time.Time{})
	if !got.Kept || got.Enough[0].Placed+got.More[0].Placed != 3 || got.Enough[1].Placed != 2 {
		t.Errorf("got %d + %d and %d, should be 3 and 2", got.Enough[0].Placed, got.More[0].Placed, got.Enough[1].Placed)
	}
}

// TestMembersThatHaveToBeNearComeWhereAllHaveRoom has zones of several sizes: the members of a gang are in one of them.
func TestMembersThatHaveToBeNearComeWhereAllHaveRoom(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		c, store := newStore(t)
		most := 0
		for zone := range rapid.IntRange(1, 5).Draw(t, "zones") {
			slots := 0
			for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
				has := amount{cpu: rapid.IntRange(0, 4).Draw(t, "cpus")}
				node := has.node(fmt.Sprint("node-", zone, "-", i))
				node.Labels[corev1.LabelTopologyZone] = fmt.Sprint("zone-", zone)
				set(t, c, node)
				slots += has.cpu
			}
			most = max(most, slots)
		}
		var pods []*cluster.Pod
		for i := range rapid.IntRange(2, 8).Draw(t, "members") {
			pods = append(pods, near(fmt.Sprint("pod-", i)))
		}
		plan := New(store, pods, rapid.Uint64().Draw(t, "seed"))
		defer plan.Close()
		if got := plan.PlaceTogether([]Demand{{Pods: pods, AtLeast: len(pods)}}, time.Time{}); got.Kept != (most >= len(pods)) {
			t.Fatalf("%d members, a zone has room for %d: %+v", len(pods), most, got)
		}
	})
}

// TestGroupsAreRearranged has cases in which the best nodes, taken in the order of the pods, leave none for the last ones.
func TestGroupsAreRearranged(t *testing.T) {
	of := func(cpus ...int) (amounts []amount) {
		for _, cpu := range cpus {
			amounts = append(amounts, amount{cpu: cpu})
		}
		return amounts
	}
	type group struct {
		atLeast int
		pods    []amount
	}
	for name, c := range map[string]struct {
		nodes  []amount
		groups []group
		kept   bool
	}{
		"two small ones would take a node each": {of(4, 4), []group{{3, of(2, 2, 4)}}, true},
		"a group before another one":            {of(4, 4), []group{{2, of(2, 2)}, {1, of(4)}}, true},
		"exactly full":                          {of(10, 10, 10), []group{{9, of(1, 2, 3, 3, 3, 4, 4, 5, 5)}}, true},
		"a step has to be taken back":           {of(7, 7, 6), []group{{7, of(3, 2, 3, 3, 3, 4, 2)}}, true},
		"and two":                               {of(8, 7, 6), []group{{6, of(5, 2, 4, 4, 4, 2)}}, true},
		"too little in one piece":               {of(3, 3), []group{{3, of(2, 2, 2)}, {0, of(1)}}, false},
		"a pod without a GPU leaves it":         {[]amount{{4, 1}, {4, 0}}, []group{{2, []amount{{4, 0}, {4, 1}}}}, true},
		"the smaller ones of a group":           {of(5, 3), []group{{2, of(5, 2, 3)}, {1, of(3)}}, true},
		"a GPU is what there is least of":       {[]amount{{6, 0}, {5, 1}}, []group{{1, []amount{{5, 1}, {6, 0}}}, {1, []amount{{1, 1}}}}, true},
		"a node that was tried for another one": {of(4, 5), []group{{4, of(2, 2, 2, 3)}}, true},
		"each size on the nodes that it fills": {
			slices.Concat(slices.Repeat(of(5), 20), slices.Repeat(of(8), 20)),
			[]group{{60, slices.Concat(slices.Repeat(of(4), 40), slices.Repeat(of(5), 20))}},
			true,
		},
		"the last chip for the cheaper choice": {
			[]amount{{6, 0}, {5, 0}, {5, 2}},
			[]group{
				{1, []amount{{5, 0}, {1, 1}}},
				{1, of(4, 2, 1, 2)},
				{1, of(1)},
				{1, []amount{{1, 0}, {5, 0}, {1, 1}}},
				{1, []amount{{4, 1}, {3, 1}}},
				{2, []amount{{5, 0}, {5, 1}, {1, 0}}},
			},
			true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, store := newStore(t)
			for i, node := range c.nodes {
				set(t, cluster, node.node(fmt.Sprint("node-", i)))
			}
			var demands []Demand
			for g, group := range c.groups {
				d := Demand{AtLeast: group.atLeast}
				for i, pod := range group.pods {
					d.Pods = append(d.Pods, podsAsking(pod, fmt.Sprint("pod-", g, "-", i), 1)...)
				}
				demands = append(demands, d)
			}
			plan := New(store, podsOf(demands), 1)
			defer plan.Close()
			if got := plan.PlaceTogether(demands, time.Time{}); got.Kept != c.kept || got.Cut {
				t.Errorf("kept: %v, cut: %v", got.Kept, got.Cut)
			}
		})
	}
}

// A search takes a quarter of the time that is left when the best nodes do not do, so that other searches have the rest. The clock
// goes on by a second whenever it is asked.
func TestTimeEndsARearrangement(t *testing.T) {
	for seconds := range 100 {
		clock := &ticking{now: time.Unix(0, 0)}
		c, store := newStoreAt(t, clock)
		set(t, c, amount{cpu: 4}.node("node-0"))
		set(t, c, amount{cpu: 4}.node("node-1"))
		pods := slices.Concat(podsAsking(amount{cpu: 2}, "small", 2), podsAsking(amount{cpu: 4}, "large", 1))
		plan := New(store, pods, 1)
		began := clock.now
		deadline := began.Add(time.Duration(seconds) * time.Second)
		got := plan.PlaceTogether([]Demand{{Pods: pods, AtLeast: 3}}, deadline)
		took := clock.now.Sub(began)
		plan.Close()
		if !got.Kept {
			if !got.Late {
				t.Errorf("in %d seconds there are no places, and not for lack of time", seconds)
			}
			continue
		}
		if seconds < 10 || deadline.Sub(clock.now) < took {
			t.Errorf("of %d seconds the search took %s", seconds, took)
		}
		return
	}
	t.Error("no time was enough")
}

func podsOf(demands []Demand) (pods []*cluster.Pod) {
	for _, d := range demands {
		pods = append(pods, d.Pods...)
	}
	return pods
}

func TestMembersThatHaveToBeNearFindTheOneZoneAmongMany(t *testing.T) {
	c, store := newStore(t)
	in := func(zone string, node *corev1.Node) *corev1.Node {
		node.Labels[corev1.LabelTopologyZone] = zone
		return node
	}
	for i := range 20 { // the full ones are taken first in a search, and the empty ones before it
		set(t, c, in(fmt.Sprint("full-", i), amount{cpu: 2}.node(fmt.Sprint("full-", i))))
		set(t, c, in(fmt.Sprint("empty-", i), amount{cpu: 8}.node(fmt.Sprint("empty-", i))))
	}
	for i := range 3 {
		set(t, c, in("large", amount{cpu: 4}.node(fmt.Sprint("large-", i))))
	}
	var pods []*cluster.Pod
	for i := range 10 {
		pods = append(pods, near(fmt.Sprint("pod-", i)))
	}
	plan := New(store, pods, 1)
	defer plan.Close()
	if got := plan.PlaceTogether([]Demand{{Pods: pods, AtLeast: len(pods)}}, time.Time{}); !got.Kept {
		t.Errorf("no place is found: %+v", got)
	}
}

// near returns a pod that asks for a CPU in the zone of the others.
func near(name string) *cluster.Pod {
	pod := amount{cpu: 1}.pod(name)
	pod.Labels = map[string]string{"app": "gang"}
	pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}, TopologyKey: corev1.LabelTopologyZone,
		}},
	}}
	return cluster.NewPod(pod)
}

// TestMembersThatHaveToBeNearAnotherOneComeWhereThatOneHasRoomForThem has a launcher that would go to the emptiest node, and
// workers that have to be in its zone. kube-scheduler takes pods in their order, so a launcher that comes last is of no use.
func TestMembersThatHaveToBeNearAnotherOneComeWhereThatOneHasRoomForThem(t *testing.T) {
	for name, last := range map[string]bool{"the launcher comes first": false, "the launcher comes last": true} {
		t.Run(name, func(t *testing.T) { expectNearLauncher(t, last) })
	}
}

func expectNearLauncher(t *testing.T, last bool) {
	t.Helper()
	c, store := newStore(t)
	for zone, nodes := range map[string][]int{"too-small": {8}, "enough": {4, 4, 1}} {
		for i, cpu := range nodes {
			node := amount{cpu: cpu}.node(fmt.Sprint(zone, "-", i))
			node.Labels[corev1.LabelTopologyZone] = zone
			set(t, c, node)
		}
	}
	launcher := amount{cpu: 1}.pod("launcher")
	launcher.Labels = map[string]string{"role": "launcher"}
	pods := []*cluster.Pod{cluster.NewPod(launcher)}
	for i := range 2 {
		worker := amount{cpu: 4}.pod(fmt.Sprint("worker-", i))
		worker.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: launcher.Labels}, TopologyKey: corev1.LabelTopologyZone,
			}},
		}}
		pods = append(pods, cluster.NewPod(worker))
	}
	if last {
		slices.Reverse(pods)
	}
	plan := New(store, pods, 1)
	defer plan.Close()
	if got := plan.PlaceTogether([]Demand{{Pods: pods, AtLeast: 3}}, time.Time{}); got.Kept == last {
		t.Errorf("places are found: %t", got.Kept)
	}
}

// TestMembersFollowEachOtherToAZone has a worker that needs the launcher near it, and a larger one that needs that worker.
func TestMembersFollowEachOtherToAZone(t *testing.T) {
	c, store := newStore(t)
	for zone, nodes := range map[string][]int{"too-small": {6}, "enough": {4, 2, 1}} {
		for i, cpu := range nodes {
			node := amount{cpu: cpu}.node(fmt.Sprint(zone, "-", i))
			node.Labels[corev1.LabelTopologyZone] = zone
			set(t, c, node)
		}
	}
	var pods []*cluster.Pod
	for i, cpu := range []int{1, 2, 4} {
		pod := amount{cpu: cpu}.pod(fmt.Sprint("pod-", i))
		pod.Labels = map[string]string{"number": fmt.Sprint(i)}
		if i > 0 {
			pod.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"number": fmt.Sprint(i - 1)}},
					TopologyKey:   corev1.LabelTopologyZone,
				}},
			}}
		}
		pods = append(pods, cluster.NewPod(pod))
	}
	plan := New(store, pods, 1)
	defer plan.Close()
	if got := plan.PlaceTogether([]Demand{{Pods: pods, AtLeast: 3}}, time.Time{}); !got.Kept {
		t.Errorf("no place is found: %+v", got.Enough)
	}
}

func TestRoomThatIsPromisedToOthersStaysSoInEachTurn(t *testing.T) {
	c, store := newStore(t)
	for i := range 4 {
		set(t, c, amount{cpu: 4}.node(fmt.Sprint("node-", i)))
	}
	set(t, c, nominated(amount{cpu: 2}.pod("promised"), "node-0"))
	pods := slices.Concat(podsAsking(amount{cpu: 2}, "small", 6), podsAsking(amount{cpu: 4}, "large", 1))
	plan := New(store, pods, 1)
	defer plan.Close()
	if got := plan.PlaceTogether([]Demand{{Pods: pods, AtLeast: 7}}, time.Time{}); got.Kept {
		t.Errorf("the room of a nominated pod is given to others: %+v", got.Enough)
	}
	for node := range plan.Changed() {
		if len(node.Pods) > 0 {
			t.Errorf("%s keeps %s", node.Name, node.Pods[0].Name)
		}
	}
}

func podsAsking(a amount, name string, count int) (pods []*cluster.Pod) {
	for i := range count {
		pods = append(pods, cluster.NewPod(a.pod(fmt.Sprint(name, "-", i))))
	}
	return pods
}
