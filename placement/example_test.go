package placement_test

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// A gang is planned around a pod that a place is held for, and then as if another one
// were evicted.
func Example() {
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Minute})
	for _, name := range []string{"one", "two"} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		node.Status.Allocatable = corev1.ResourceList{"example.com/gpu": resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("110")}
		fail(c.Set(node))
	}
	gpus := func(name, node, count string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"example.com/gpu": resource.MustParse(count)}},
			}}},
		}
	}
	fail(c.Set(gpus("running", "two", "2")))

	cfg := config.Default().Profiles[0]
	profile, err := predicates.NewProfile(&cfg)
	fail(err)
	store := predicates.NewVerdictStore(profile, c, 64<<20, predicates.NewStoreMetrics(prometheus.NewRegistry()), clock.RealClock{})
	var gang []*cluster.Pod
	for i := range 3 {
		gang = append(gang, cluster.NewPod(gpus(fmt.Sprint("worker-", i), "", "2")))
	}

	plan := placement.New(store, gang, 1)
	defer plan.Close()
	one, two := c.Snapshot().NodeByName("one"), c.Snapshot().NodeByName("two")

	plan.Put(cluster.NewPod(gpus("held", "", "2")), one.Index)
	outcome := plan.PlaceAll(gang, len(gang), time.Time{})
	fmt.Printf("%d of %d, kept: %v\n", outcome.Placed, len(gang), outcome.Kept)
	fmt.Printf("%s: %+v\n", outcome.Places[2].Pod.Name, outcome.Places[2].Against)

	plan.Take(two.Pods[0], two.Index)
	outcome = plan.PlaceAll(gang, len(gang), time.Time{})
	fmt.Printf("%d of %d, kept: %v\n", outcome.Placed, len(gang), outcome.Kept)
	// Output:
	// 2 of 3, kept: false
	// worker-2: [{Reason:Insufficient example.com/gpu Nodes:2}]
	// 3 of 3, kept: true
}

func fail(err error) {
	if err != nil {
		panic(err)
	}
}
