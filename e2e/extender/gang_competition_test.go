package extender_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// interleaved are the first members of all gangs, then the second ones, and so on. All gangs
// have as many.
func interleaved(gangs ...[]*corev1.Pod) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range gangs[0] {
		for _, gang := range gangs {
			pods = append(pods, gang[i])
		}
	}
	return pods
}

// whole expects a number of gangs, of any name, with a number of members each, and nothing of
// others.
func whole(gangs, members int) func(bound map[string]int) error {
	return func(bound map[string]int) error {
		got := slices.Sorted(maps.Values(bound))
		if diff := cmp.Diff(slices.Repeat([]int{members}, gangs), got); diff != "" {
			return fmt.Errorf("pods bound of the gangs that have any (-want +got):\n%s", diff)
		}
		return nil
	}
}

// Label selectors.
const (
	allOf    = v1alpha1.LabelX + "="
	ofNoGang = "!" + v1alpha1.LabelX
)

func TestOfInterleavedGangsAsManyStartAsThereIsRoomFor(t *testing.T) {
	const each, rooms = 5, 3
	c := newCluster(t, workload.NewNodes("node", each*rooms+each-1, "4")...)
	w := c.serveAndSchedule(muster.Options{}).watch()
	var gangs [][]*corev1.Pod
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		c.createPodGroups(workload.NewPodGroup(name, each))
		gangs = append(gangs, workload.NewMembers(name, each, "3"))
	}
	c.createPods(interleaved(gangs...)...)
	w.settles(whole(rooms, each))
}

func TestGangsForWhichThereIsRoomForOneStartOneAfterTheOther(t *testing.T) {
	const each = 4
	c := newCluster(t, workload.NewNodes("node", each, "4")...)
	w := c.serveAndSchedule(muster.Options{}).watch()
	gangs := []string{"a", "b", "c"}
	for _, name := range gangs {
		c.createPodGroups(workload.NewPodGroup(name, each))
	}
	c.createPods(interleaved(workload.NewMembers("a", each, "3"), workload.NewMembers("b", each, "3"), workload.NewMembers("c", each, "3"))...)
	over := map[string]bool{}
	for i := range gangs {
		w.settles(whole(i+1, each))
		for name := range w.everBound() {
			if !over[name] {
				over[name] = true
				c.deletePods(allOf + name)
			}
		}
	}
}

func TestTheGangOfTheHighestPriorityStartsFirst(t *testing.T) {
	const each = 4
	onNode := func(name string) func(*corev1.Pod) {
		return workload.On(name)
	}
	nodes := workload.NewNodes("node", each, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPriorityClass("higher", 2000)
	for _, node := range nodes {
		c.createPods(workload.NewPod("in-the-way-on-"+node.Name, "4", onNode(node.Name), workload.OfPriority("higher")))
	}
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPodGroups(workload.NewPodGroup("low", each), workload.NewPodGroup("high", each))
	c.createPods(workload.NewMembers("low", each, "3")...)
	w.settles(exactly(map[string]int{"": each}))
	c.createPods(workload.NewMembers("high", each, "3", workload.OfPriority("high"))...)
	w.settles(exactly(map[string]int{"": each}))
	c.deletePods(ofNoGang)
	w.settles(exactly(map[string]int{"": each, "high": each}))
	c.deletePods(allOf + "high")
	w.settles(exactly(map[string]int{"": each, "high": each, "low": each}))
}

func TestAGangGivesItsPlacesToOneOfHigherPriorityBeforeItStarts(t *testing.T) {
	const each = 4
	c := newCluster(t, workload.NewNodes("node", each, "4")...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("low", each), workload.NewPodGroup("high", each))
	s := c.serve(muster.Options{})
	w, d := s.watch(), s.shutFor("low-3")
	c.Schedule(s.schedulerConfig(nil, d.through))
	c.createPods(workload.NewMembers("low", each, "3")...)
	s.awaitHeld("low", each-1)
	c.createPods(workload.NewMembers("high", each, "3", workload.OfPriority("high"))...)
	s.awaitHeld("low", 0)
	d.open() // a bind call comes after all was given up
	w.settles(exactly(map[string]int{"high": each}))
	c.deletePods(allOf + "high")
	w.settles(exactly(map[string]int{"high": each, "low": each}))
}

func TestPodsOfNoGangHaveTheRoomThatAGangDoesNotPlanToTake(t *testing.T) {
	const each = 4
	c := newCluster(t, workload.NewNodes("node", each, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", each), workload.NewPodGroup("giant", each+1))
	s := c.serve(muster.Options{})
	w, d := s.watch(), s.shutFor("g-3")
	c.Schedule(s.schedulerConfig(nil, d.through))
	c.createPods(workload.NewMembers("giant", each+1, "3")...) // has no place ever, and keeps none from others
	c.createPods(workload.NewMembers("g", each, "3")...)
	s.awaitHeld("g", each-1)
	for i := range each {
		c.createPods(workload.NewPod(fmt.Sprintf("large-%d", i), "2"), workload.NewPod(fmt.Sprintf("small-%d", i), "1"))
	}
	w.awaits(exactly(map[string]int{"": each})) // of the small ones: nodes are never overcommitted
	d.open()
	w.settles(exactly(map[string]int{"": each, "g": each}))
	c.deletePods(allOf + "g")
	w.settles(exactly(map[string]int{"": 2 * each, "g": each}))
}
