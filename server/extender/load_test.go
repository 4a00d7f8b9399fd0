package extender

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/server/servertest"
)

// filterAlone has a profile whose nodes nobody of muster's scores: kube-scheduler's own plugins choose.
const filterAlone = `
profiles:
  - schedulerName: default-scheduler
    plugins:
      filter: {enabled: [{name: LoadAware}]}
      score: {disabled: [{name: "*"}]}
`

// TestABurstThatIsFilteredAtOnceOverloadsNoNode has pods asked about before any of them is bound. Each counts for
// 1.7 CPUs, and a node of 10 CPUs that uses 1 has room for three of them below 65 %. kube-scheduler, which binds
// several at a time, prefers the first node for all.
func TestABurstThatIsFilteredAtOnceOverloadsNoNode(t *testing.T) {
	b := newBench(t, benchOptions{profiles: filterAlone, client: bindings(accept)})
	for _, node := range []string{"a", "b", "c"} {
		b.Node(node, "10")
		now := time.Now()
		b.Cluster.SetUsage(node, &cluster.Usage{Updated: now, Seen: now, Node: cluster.Resources{MilliCPU: 1000}})
	}
	var waiting []*corev1.Pod
	for i := range 8 {
		waiting = append(waiting, b.Pending(servertest.Pod(fmt.Sprint("p", i), "2")))
	}
	for _, attempt := range []struct {
		offered []string // to each pod
		on      string
		left    int // pods without a node
	}{{[]string{"a", "b", "c"}, "a", 5}, {[]string{"b", "c"}, "b", 2}, {[]string{"c"}, "c", 0}} {
		for _, pod := range waiting {
			if got := *b.Filter(pod, "a", "b", "c").NodeNames; !slices.Equal(got, attempt.offered) {
				t.Fatalf("%s is offered %v, want %v", pod.Name, got, attempt.offered)
			}
		}
		answers := make([]string, len(waiting))
		var calls sync.WaitGroup
		for i, pod := range waiting {
			calls.Go(func() { answers[i] = b.bindAsIs(pod, attempt.on) })
		}
		calls.Wait()
		var refused []*corev1.Pod
		for i, answer := range answers {
			switch want := "the pod does not fit on node " + attempt.on + " any more: node(s) cpu usage exceed threshold"; answer {
			case "":
			case want:
				refused = append(refused, waiting[i])
			default:
				t.Errorf("%s: bind answered %q, want nothing or %q", waiting[i].Name, answer, want)
			}
		}
		if waiting = refused; len(waiting) != attempt.left {
			t.Fatalf("%d pods are refused at node %s, want %d", len(waiting), attempt.on, attempt.left)
		}
	}
	placed := map[string]int{}
	for node := range b.Cluster.Snapshot().Nodes() {
		placed[node.Name] = len(node.Pods)
	}
	if diff := cmp.Diff(map[string]int{"a": 3, "b": 3, "c": 2}, placed); diff != "" {
		t.Errorf("pods by node (-want +got):\n%s", diff)
	}
}
