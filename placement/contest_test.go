package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// amounts is a pod that asks for CPU and memory.
func amounts(name string, milliCPU, memory int64) *corev1.Pod {
	pod := asking(name, "0", 0)
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(milliCPU, resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(memory, resource.DecimalSI),
	}
	return pod
}

// TestWhatIsNotContestedHasRoomWhateverTheSchedulerDoes has a scheduler put rivals and members anywhere where they fit,
// in any order.
func TestWhatIsNotContestedHasRoomWhateverTheSchedulerDoes(t *testing.T) {
	shown := 0
	seeded.Until(t, func() bool { return shown > 0 }, func(t *rapid.T) {
		c, store := newStore(t)
		for i := range rapid.IntRange(1, 8).Draw(t, "nodes") {
			node := nodeOf(fmt.Sprint("node-", i), "0")
			node.Status.Allocatable = corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewQuantity(rapid.Int64Range(0, 16).Draw(t, "cpu"), resource.DecimalSI),
				corev1.ResourceMemory: *resource.NewQuantity(rapid.Int64Range(0, 100).Draw(t, "memory"), resource.DecimalSI),
				corev1.ResourcePods:   *resource.NewQuantity(rapid.Int64Range(0, 30).Draw(t, "most pods"), resource.DecimalSI),
			}
			set(t, c, node)
			set(t, c, runningOn(amounts(fmt.Sprint("running-", i), rapid.Int64Range(0, 2000).Draw(t, "used"), 10), node.Name))
		}
		cpu, memory := rapid.SampledFrom([]int64{0, 0, 700, 3000}).Draw(t, "cpu of one"), rapid.Int64Range(0, 20).Draw(t, "memory of one")
		var members, rivals []*cluster.Pod
		for i := range rapid.IntRange(1, 6).Draw(t, "members") {
			members = append(members, cluster.NewPod(amounts(fmt.Sprint("member-", i), cpu, memory)))
		}
		for i := range rapid.IntRange(0, 4).Draw(t, "rivals") {
			rivals = append(rivals, cluster.NewPod(amounts(
				fmt.Sprint("rival-", i), rapid.Int64Range(0, 9000).Draw(t, "its cpu"), rapid.Int64Range(0, 60).Draw(t, "its memory"))))
		}
		plan := New(store, members, 1)
		if outcome := plan.PlaceAll(members, len(members), time.Time{}); !outcome.Kept || plan.Contested(members, rivals) {
			plan.Close()
			return
		}
		plan.Close()
		shown++
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		for range 20 {
			pods := append(append([]*cluster.Pod(nil), members...), rivals...)
			random.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
			anywhere := New(store, pods, 1)
			for _, pod := range pods {
				var fits []int32
				for node := range anywhere.Snapshot().Nodes() {
					if anywhere.batch(pod).trial.Verdict(node.Index) == predicates.Fits {
						fits = append(fits, node.Index)
					}
				}
				switch {
				case len(fits) > 0:
					anywhere.Put(pod, fits[random.IntN(len(fits))])
				case pod.Name[0] == 'm':
					t.Fatalf("%s has no room", pod.Name)
				}
			}
			anywhere.Close()
		}
	})
	if shown == 0 {
		t.Error("nothing was ever shown not to be contested")
	}
}

func TestWhatMattersToOthersThanTheSchedulerIsContested(t *testing.T) {
	more := func(change func(*corev1.Pod)) func(pods []*corev1.Pod) {
		return func(pods []*corev1.Pod) { change(pods[len(pods)-1]) }
	}
	for name, test := range map[string]struct {
		change func(pods []*corev1.Pod)
		rival  func(*corev1.Pod)
		want   bool
	}{
		"nothing":    {want: false},
		"a rival":    {rival: func(*corev1.Pod) {}, want: false},
		"other pods": {change: more(func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"a": "b"} }), want: true},
		"ports":      {change: more(func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 1}} }), want: true},
		"a rival that keeps others off": {rival: func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "x"}},
			}}
		}, want: true},
		"a rival that asks for much": {rival: func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("8")
		}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			c, store := newStore(t)
			for _, name := range []string{"a", "b", "c"} {
				set(t, c, nodeOf(name, "8"))
			}
			objects := []*corev1.Pod{amounts("m-0", 1000, 0), amounts("m-1", 1000, 0)}
			if test.change != nil {
				test.change(objects)
			}
			members := []*cluster.Pod{cluster.NewPod(objects[0]), cluster.NewPod(objects[1])}
			var rivals []*cluster.Pod
			if test.rival != nil {
				rival := amounts("r", 500, 0)
				test.rival(rival)
				rivals = append(rivals, cluster.NewPod(rival))
			}
			plan := New(store, members, 1)
			defer plan.Close()
			plan.PlaceAll(members, 0, time.Time{})
			if got := plan.Contested(members, rivals); got != test.want {
				t.Errorf("contested: %t, want %t", got, test.want)
			}
		})
	}
}
