package predicates

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// heap returns the bytes in use on the heap.
func heap() int64 {
	var stats runtime.MemStats
	for range 3 { // unique forms go late
		runtime.GC()
	}
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// A store accounts for the bytes that its classes take: the bound in bytes is one.
func TestAClassIsAccountedForAtWhatItTakes(t *testing.T) {
	const classes = 300
	zone := func(change func(*corev1.TopologySpreadConstraint)) func(*corev1.Pod) {
		return spreadBy("zone", 1, corev1.DoNotSchedule, change)
	}
	shapes := map[string]func(pod *corev1.Pod){
		"plain": func(*corev1.Pod) {},
		"labels and annotations": func(pod *corev1.Pod) {
			pod.Labels, pod.Annotations = map[string]string{}, map[string]string{}
			for i := range 30 {
				pod.Labels[fmt.Sprint("label-", i)], pod.Annotations[fmt.Sprint("annotation-", i)] = "value", "a value of some length"
			}
		},
		"containers": func(pod *corev1.Pod) {
			for range 30 {
				pod.Spec.Containers = append(pod.Spec.Containers, pod.Spec.Containers[0])
			}
		},
		"tolerations": func(pod *corev1.Pod) {
			for i := range 50 {
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: fmt.Sprint(i), Operator: corev1.TolerationOpExists})
			}
		},
		"node affinity": func(pod *corev1.Pod) {
			for i := range 20 {
				requiring(label(fmt.Sprint("key-", i), corev1.NodeSelectorOpIn, "a", "b", "c"))(pod)
				preferring(preferredTerm(1, label(fmt.Sprint("key-", i), corev1.NodeSelectorOpIn, "a", "b")))(pod)
			}
		},
		"terms about a key that nodes have": func(pod *corev1.Pod) {
			keepingOff(aboutPods("zone", "app", "web"))(pod)
			shunning(1, aboutPods("host", "app", "web"))(pod)
		},
		"terms about keys that nobody has": func(pod *corev1.Pod) {
			for i := range 30 {
				keepingOff(aboutPods(fmt.Sprint("key-", i), "app", "web"))(pod)
				liking(1, aboutPods(fmt.Sprint("key-", i), "app", "db"))(pod)
			}
		},
		"constraints": func(pod *corev1.Pod) {
			zone(about("app"))(pod)
			spreadBy("host", 1, corev1.ScheduleAnyway, about("app"))(pod)
		},
	}
	sizes := []int{5, 500}
	if !testing.Short() {
		sizes = append(sizes, 2000)
	}
	for name, shape := range shapes {
		for _, nodes := range sizes {
			t.Run(fmt.Sprintf("%s, on %d nodes", name, nodes), func(t *testing.T) {
				registry := prometheus.NewRegistry()
				cfg := withEveryPlugin(&config.Default().Profiles[0])
				profile, err := NewProfile(cfg)
				if err != nil {
					t.Fatal(err)
				}
				c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Hour})
				for i := range nodes {
					node := storeNode(fmt.Sprint("node-", i), 4)
					node.Labels = map[string]string{"zone": fmt.Sprint(i % 3), "host": node.Name}
					if err := c.Set(node); err != nil {
						t.Fatal(err)
					}
				}
				store := NewVerdictStore(profile, c, 1<<40, NewStoreMetrics(registry), clock.RealClock{})
				ask := func(i int) {
					yes := true
					pod := pod(shape)
					pod.Name, pod.UID = fmt.Sprint("p", i), types.UID(fmt.Sprint("uid-", i))
					pod.OwnerReferences = []metav1.OwnerReference{{UID: types.UID(fmt.Sprint("controller-", i)), Controller: &yes}}
					text, err := json.Marshal(pod) // as it arrives: nothing is shared
					if err != nil {
						t.Fatal(err)
					}
					object := &corev1.Pod{}
					if err := json.Unmarshal(text, object); err != nil {
						t.Fatal(err)
					}
					view := store.View(cluster.NewPod(object))
					view.Close()
				}
				ask(-1) // what all share
				before, accounted := heap(), store.bytes
				for i := range classes {
					ask(i)
				}
				taken, accounted := (heap()-before)/classes, (store.bytes-accounted)/classes
				t.Logf("a class takes %d bytes, and is accounted for at %d", taken, accounted)
				if taken > accounted*5/4 || accounted > taken*3/2 {
					t.Errorf("a class takes %d bytes, and is accounted for at %d", taken, accounted)
				}
				runtime.KeepAlive(store)
			})
		}
	}
}
