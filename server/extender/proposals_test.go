package extender

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"k8s.io/utils/clock"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/servertest"
)

// evictable are nodes that are full, each with some pods that may all go.
type evictable map[string][]*corev1.Pod

func drawEvictable(t *rapid.T) evictable {
	nodes := evictable{}
	for i := range rapid.IntRange(1, 40).Draw(t, "nodes") {
		node := fmt.Sprintf("n%d", i)
		for j := range rapid.IntRange(1, 3).Draw(t, "victims") {
			pod := servertest.Pod(fmt.Sprintf("%s-%d", node, j), "1")
			pod.Spec.NodeName = node
			pod.Spec.Priority = new(rapid.Int32Range(-1, 1).Draw(t, "priority"))
			if hour := rapid.IntRange(0, 3).Draw(t, "started"); hour > 0 {
				pod.Status.StartTime = &metav1.Time{Time: time.Date(2026, time.January, 1, hour, 0, 0, 0, time.UTC)}
			}
			nodes[node] = append(nodes[node], pod)
		}
	}
	return nodes
}

// best returns the nodes that kube-scheduler would choose among: the nodes that are left after each of its
// rules.
func (nodes evictable) best() map[string]bool {
	highest := func(node string) (priority int32) {
		priority = math.MinInt32
		for _, pod := range nodes[node] {
			priority = max(priority, *pod.Spec.Priority)
		}
		return priority
	}
	rules := []func(node string) int64{
		func(node string) int64 { return int64(highest(node)) },
		func(node string) (sum int64) {
			for _, pod := range nodes[node] {
				sum += int64(*pod.Spec.Priority) + math.MaxInt32 + 1
			}
			return sum
		},
		func(node string) int64 { return int64(len(nodes[node])) },
		func(node string) int64 {
			earliest := int64(math.MaxInt64)
			for _, pod := range nodes[node] {
				if *pod.Spec.Priority == highest(node) && pod.Status.StartTime != nil {
					earliest = min(earliest, pod.Status.StartTime.Unix())
				}
			}
			return -earliest
		},
	}
	left := map[string]bool{}
	for node := range nodes {
		left[node] = true
	}
	for _, rule := range rules {
		least := int64(math.MaxInt64)
		for node := range left {
			least = min(least, rule(node))
		}
		for node := range left {
			if rule(node) > least {
				delete(left, node)
			}
		}
	}
	return left
}

// propose has the pods run, and proposes all of them.
func (nodes evictable) propose(b *bench) victims {
	proposed := victims{}
	for name, pods := range nodes {
		b.Node(name, fmt.Sprint(len(pods)))
		proposed[name] = &extenderv1.MetaVictims{}
		for _, pod := range pods {
			b.Pending(pod)
			proposed[name].Pods = append(proposed[name].Pods, &extenderv1.MetaPod{UID: string(pod.UID)})
		}
	}
	return proposed
}

func TestOfManyProposalsAFewAreAnsweredAndTheBestIsAmongThem(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		b := newBench(t, benchOptions{})
		nodes := drawEvictable(rt)
		proposed := nodes.propose(b)
		important := servertest.Pod("important", "1")
		important.Spec.Priority = new(int32(100))
		got := b.preempt(extenderv1.ExtenderPreemptionArgs{Pod: important, NodeNameToMetaVictims: proposed})
		if want := min(len(nodes), enoughNodes); len(got) != want {
			rt.Errorf("%d nodes are answered, want %d", len(got), want)
		}
		for node := range nodes.best() {
			if got[node] != nil {
				return
			}
		}
		rt.Errorf("none of the best nodes %v is answered: %v", nodes.best(), got)
	})
}

func TestTheFirstProposalIsOneThatKubeSchedulerWouldTake(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		b := newBench(t, benchOptions{})
		nodes := drawEvictable(rt)
		proposed := nodes.propose(b)
		if first := rank(b.Cluster.Snapshot(), proposed)[0].node.Name; !nodes.best()[first] {
			rt.Errorf("the first one is %s, want one of %v", first, nodes.best())
		}
		// A budget that is violated outweighs all else.
		spared := rapid.SampledFrom(slices.Sorted(maps.Keys(nodes))).Draw(rt, "spared")
		for name := range proposed {
			if name != spared {
				proposed[name].NumPDBViolations = 1
			}
		}
		if first := rank(b.Cluster.Snapshot(), proposed)[0].node.Name; first != spared {
			rt.Errorf("the first one is %s, want %s, which alone violates no budget", first, spared)
		}
	})
}

// sparing has gangs on some nodes harmed by any eviction there.
type sparing struct{ harmed map[string]bool }

func (s sparing) spare(victims victims) (harmless bool) {
	for node := range victims {
		harmless = harmless || !s.harmed[node]
	}
	if harmless {
		maps.DeleteFunc(victims, func(node string, _ *extenderv1.MetaVictims) bool { return s.harmed[node] })
	}
	return harmless
}

func TestProposalsThatHarmNoGangAreLookedForAmongAll(t *testing.T) {
	b := newBench(t, benchOptions{})
	proposed, harmed := victims{}, map[string]bool{}
	for i := range 2 * enoughNodes {
		name := fmt.Sprintf("n%d", i)
		harmed[name] = i < enoughNodes
		b.Node(name, "1")
		pod := servertest.Pod("on-"+name, "1")
		pod.Spec.NodeName = name
		if !harmed[name] {
			pod.Spec.Priority = new(int32(1)) // the worse candidate
		}
		b.Pending(pod)
		proposed[name] = &extenderv1.MetaVictims{Pods: []*extenderv1.MetaPod{{UID: string(pod.UID)}}}
	}
	b.extender.sparers = []sparer{sparing{harmed}}
	important := servertest.Pod("important", "1")
	important.Spec.Priority = new(int32(100))
	got := b.preempt(extenderv1.ExtenderPreemptionArgs{Pod: important, NodeNameToMetaVictims: proposed})
	if len(got) == 0 {
		t.Error("no node is answered")
	}
	for node := range got {
		if harmed[node] {
			t.Errorf("%s is answered, where a gang is harmed", node)
		}
	}
}

func TestWhereNoProposalHoldsEveryNodeIsLookedAt(t *testing.T) {
	b := newBench(t, benchOptions{})
	proposed := victims{}
	for i := range 3 * enoughNodes {
		name := fmt.Sprintf("n%d", i)
		b.Node(name, "4")
		for _, cpu := range []string{"1", "3"} {
			pod := servertest.Pod(name+"-"+cpu, cpu)
			pod.Spec.NodeName = name
			b.Pending(pod)
		}
		proposed[name] = &extenderv1.MetaVictims{Pods: []*extenderv1.MetaPod{{UID: "uid-" + name + "-1"}}}
	}
	important := servertest.Pod("important", "2")
	important.Spec.Priority = new(int32(100))
	got := b.preempt(extenderv1.ExtenderPreemptionArgs{Pod: important, NodeNameToMetaVictims: proposed})
	if len(got) != len(proposed) {
		t.Errorf("%d nodes are answered, want all %d", len(got), len(proposed))
	}
}

const offloaded = "profiles: [{offload: true, nodeSelection: Muster}]"

// pinned is a pod of great importance that suits the nodes of a slot only.
func pinned(slot string) *corev1.Pod {
	pod := servertest.Pod("important", "2")
	pod.Spec.Priority, pod.Spec.NodeSelector = new(int32(100)), map[string]string{"slot": slot}
	return pod
}

// fullNodes of slots have a pod each that leaves no room, and the first one is proposed.
func fullNodes(b *bench, slots ...string) victims {
	for i, slot := range slots {
		name := fmt.Sprintf("n%02d", i)
		b.Node(name, "2", func(node *corev1.Node) { node.Labels = map[string]string{"slot": slot} })
		pod := servertest.Pod("on-"+name, "1")
		pod.Spec.NodeName, pod.Spec.Priority = name, new(int32(len(slots)-i))
		b.Pending(pod)
	}
	return victims{"n00": {Pods: []*extenderv1.MetaPod{{UID: "uid-on-n00"}}}}
}

func TestWithOffloadVictimsAreLookedForOnNodesThatAreNotProposed(t *testing.T) {
	for name, test := range map[string]struct {
		profiles string
		slots    []string
		want     []string
	}{
		"the one that suits":              {offloaded, []string{"a", "a", "b", "a"}, []string{"n02"}},
		"none suits":                      {offloaded, []string{"a", "a", "a"}, nil},
		"what is proposed is good enough": {offloaded, []string{"b", "b", "b"}, []string{"n00"}},
		"without offload":                 {"", []string{"a", "a", "b"}, nil},
		"the best few of many": {
			offloaded,
			[]string{"a", "b", "b", "b", "b", "b", "b", "b", "b", "b", "b"},
			[]string{"n03", "n04", "n05", "n06", "n07", "n08", "n09", "n10"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchOptions{profiles: test.profiles})
			proposed := fullNodes(b, test.slots...)
			got := b.preempt(extenderv1.ExtenderPreemptionArgs{Pod: pinned("b"), NodeNameToMetaVictims: proposed})
			if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(got))); diff != "" {
				t.Errorf("nodes (-want +got):\n%s", diff)
			}
			for node, victims := range got {
				if len(victims.Pods) != 1 || victims.Pods[0].UID != "uid-on-"+node {
					t.Errorf("victims on %s: %v, want the pod there", node, victims.Pods)
				}
			}
		})
	}
}

func TestAStrangerIsToldOfNobodyOnNodesThatItDidNotPropose(t *testing.T) {
	b := newBench(t, benchOptions{profiles: offloaded})
	args := extenderv1.ExtenderPreemptionArgs{Pod: pinned("b"), NodeNameToMetaVictims: fullNodes(b, "a", "b")}
	if got := servertest.Ask[extenderv1.ExtenderPreemptionResult](b.Bench, "preempt", args).NodeNameToMetaVictims; len(got) > 0 {
		t.Errorf("it is told %v", got)
	}
}

// Filter would keep the pod off the node when its victims are gone.
func TestNobodyIsEvictedFromANodeThatIsBookedForOthers(t *testing.T) {
	for _, booked := range []bool{false, true} {
		b := newBench(t, benchOptions{profiles: offloaded, plans: clock.RealClock{}})
		proposed := fullNodes(b, "b", "b")
		if booked {
			b.reservations.Book(&reservation.Booking{
				Priority: 200, From: time.Now().Add(time.Hour), Own: func(*cluster.Pod) bool { return false },
				Pods:    map[string][]*cluster.Pod{"n00": {cluster.NewPod(servertest.Pod("own", "1"))}},
				Runtime: func(*cluster.Pod) (time.Duration, bool) { return 0, false },
			})
		}
		got := b.preempt(extenderv1.ExtenderPreemptionArgs{Pod: pinned("b"), NodeNameToMetaVictims: proposed})
		if _, evicts := got["n00"]; evicts == booked {
			t.Errorf("with a booking %t, pods are evicted from %v", booked, slices.Sorted(maps.Keys(got)))
		}
	}
}

func TestANodeThatSuitsAsItIsHasNoVictims(t *testing.T) {
	b := newBench(t, benchOptions{profiles: offloaded})
	proposed := fullNodes(b, "a", "a")
	b.Node("empty", "2", func(node *corev1.Node) { node.Labels = map[string]string{"slot": "b"} })
	if got := b.preempt(extenderv1.ExtenderPreemptionArgs{Pod: pinned("b"), NodeNameToMetaVictims: proposed}); len(got) > 0 {
		t.Errorf("victims %v, where kube-scheduler takes a node without any for an error", got)
	}
}

func TestOfNodesThatAreNotProposedThoseComeFirstThatHarmNoGang(t *testing.T) {
	b := newBench(t, benchOptions{profiles: offloaded})
	proposed := fullNodes(b, append([]string{"a", "b", "b"}, slices.Repeat([]string{"b"}, enoughNodes)...)...)
	harmed := map[string]bool{}
	for i := range enoughNodes + 3 {
		harmed[fmt.Sprintf("n%02d", i)] = i > 1
	}
	b.extender.sparers = []sparer{sparing{harmed}}
	got := b.preempt(extenderv1.ExtenderPreemptionArgs{Pod: pinned("b"), NodeNameToMetaVictims: proposed})
	if diff := cmp.Diff([]string{"n01"}, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
}
