package extender

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/server/servertest"
)

// newLoadBench has nodes of 10 CPUs, each using as much as is given.
func newLoadBench(t testing.TB, o benchOptions, used ...int64) (b *bench, nodes []string) {
	t.Helper()
	o.profiles = servertest.LoadProfiles
	b = newBench(t, o)
	for i, milliCPU := range used {
		nodes = append(nodes, string(rune('a'+i)))
		b.Node(nodes[i], "10")
		now := time.Now()
		b.Cluster.SetUsage(nodes[i], &cluster.Usage{Updated: now, Seen: now, Node: cluster.Resources{MilliCPU: milliCPU}})
	}
	return b, nodes
}

// arrives is a pod that the watch shows without a node.
func (b *bench) arrives(name, cpu, schedulerName string) *corev1.Pod {
	b.Helper()
	pod := servertest.Pod(name, cpu)
	pod.Spec.SchedulerName = schedulerName
	if err := b.Cluster.Set(pod); err != nil {
		b.Fatal(err)
	}
	return pod
}

func (b *bench) prioritize(pod *corev1.Pod, nodes []string) extenderv1.HostPriorityList {
	b.Helper()
	return servertest.Ask[extenderv1.HostPriorityList](b.Bench, "prioritize", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
}

// expectations are the pods that are expected, by node.
func (b *bench) expectations() map[string]string {
	expected := map[string]string{}
	for node := range b.Cluster.Snapshot().Nodes() {
		for _, pod := range node.Expected {
			expected[node.Name] += pod.Name
		}
	}
	return expected
}

func TestPodsBetweenPrioritizeAndBindCount(t *testing.T) {
	// A pod that asks for 4 CPUs counts for 3.4.
	b, nodes := newLoadBench(t, benchOptions{}, 1000, 1100, 3000)
	// Left are 56, 55 and 36 %: on the wire 6, 6 and 4. The best one stands out.
	first := b.prioritize(b.arrives("p", "4", ""), nodes)
	if diff := cmp.Diff(extenderv1.HostPriorityList{{Host: "a", Score: 2}, {Host: "b", Score: 1}}, first); diff != "" {
		t.Errorf("the first (-want +got):\n%s", diff)
	}
	// On a 5.4 would be used before it comes: 22, 55, 36 %.
	second := b.prioritize(b.arrives("q", "4", ""), nodes)
	if diff := cmp.Diff(extenderv1.HostPriorityList{{Host: "b", Score: 4}, {Host: "c", Score: 2}}, second); diff != "" {
		t.Errorf("the second (-want +got):\n%s", diff)
	}
	// 65 % are no longer below the threshold on a and b.
	if got := *b.Filter(b.arrives("r", "4", ""), nodes...).NodeNames; !slices.Equal(got, []string{"c"}) {
		t.Errorf("the third fits %v, want c", got)
	}
	if diff := cmp.Diff(map[string]string{"a": "p", "b": "q", "c": "r"}, b.expectations()); diff != "" {
		t.Errorf("expected (-want +got):\n%s", diff)
	}
}

func TestAPodIsExpectedUntilItsBindCallOrTheNextQuestionAboutIt(t *testing.T) {
	b, nodes := newLoadBench(t, benchOptions{client: fake.NewClientset(servertest.Pod("p", "1"))}, 1000, 2000)
	p, q := b.arrives("p", "1", ""), b.arrives("q", "1", "")
	b.prioritize(p, nodes)
	b.prioritize(q, nodes)
	b.prioritize(q, nodes) // again: it is not in its own way
	if diff := cmp.Diff(map[string]string{"a": "pq"}, b.expectations()); diff != "" {
		t.Fatalf("expected (-want +got):\n%s", diff)
	}
	message := b.bind(p, "b")
	if diff := cmp.Diff(map[string]string{"a": "q"}, b.expectations()); diff != "" || message != "" {
		t.Errorf("after the bind call %s, expected (-want +got):\n%s", message, diff)
	}
	if got := b.Cluster.Assumed(p.UID); got != "b" {
		t.Errorf("p counts on %q, want the node of the bind call", got)
	}
	b.Filter(q, nodes...)
	if got := b.expectations(); len(got) != 0 {
		t.Errorf("expected after q is asked about again: %v", got)
	}
}

func TestNothingIsExpectedWhereItDoesNotMatter(t *testing.T) {
	b, nodes := newLoadBench(t, benchOptions{}, 1000, 2000)
	scores := b.prioritize(b.arrives("p", "1", "requests"), nodes)
	if got := b.expectations(); len(got) != 0 || len(scores) != 0 {
		t.Errorf("a profile without LoadAware expects %v, and tells nodes apart: %v", got, scores)
	}
	b, nodes = newLoadBench(t, benchOptions{selection: config.NodeSelectionMuster}, 1000, 2000)
	pod := b.arrives("p", "1", "")
	b.Filter(pod, nodes...)
	if got := b.expectations(); len(got) != 0 || b.Cluster.Assumed(pod.UID) != "a" {
		t.Errorf("where muster picks the node the pod is expected: %v", got)
	}
}

func TestAScoreWeighsInPrioritizeAsMuchAsTheProfileSays(t *testing.T) {
	for weight, want := range map[string]int64{"1": 2, "5": 10, "100": 200} {
		b := newBench(t, benchOptions{profiles: `profiles: [{plugins: {score: {enabled: [{name: LoadAware, weight: ` + weight + `}]}}}]`})
		for node, milliCPU := range map[string]int64{"idle": 2000, "busy": 6000} { // 40 points by CPU, none by memory: 20 of 100
			b.Node(node, "10")
			now := time.Now()
			b.Cluster.SetUsage(node, &cluster.Usage{Updated: now, Seen: now, Node: cluster.Resources{MilliCPU: milliCPU}})
		}
		got := b.prioritize(b.arrives("p", "0", ""), []string{"idle", "busy"})
		if diff := cmp.Diff(extenderv1.HostPriorityList{{Host: "idle", Score: want}}, got); diff != "" {
			t.Errorf("weight %s (-want +got):\n%s", weight, diff)
		}
	}
}

func TestOfNodesThatAreEquallyGoodAnyStandsOut(t *testing.T) {
	b, nodes := newLoadBench(t, benchOptions{pick: func(n int) int { return n - 2 }}, 0, 0, 0) // 0 of two, 1 of three
	if diff := cmp.Diff(extenderv1.HostPriorityList{{Host: "b", Score: 1}}, b.prioritize(b.arrives("p", "1", ""), nodes)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheBestStandsOutByOneAtMost(t *testing.T) {
	for _, test := range []struct {
		name         string
		scores, want []int64
		best         int
	}{
		{"alone", []int64{7}, []int64{7}, 0},
		{"before others already", []int64{7, 9, 8}, []int64{7, 9, 8}, 1},
		{"among equals", []int64{10, 10, 10, 3}, []int64{9, 10, 9, 3}, 1},
		{"where all are bad", []int64{0, 0}, []int64{0, 1}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			standOut(test.scores, test.best)
			if !slices.Equal(test.scores, test.want) {
				t.Errorf("%v, want %v", test.scores, test.want)
			}
		})
	}
}
