package finished

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// A pod that has finished stays in the group that its owner made, though the owner goes before it.
func TestOwnedPodsAreToldByTheGroupInWhichTheyWereFirstSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const label = "example.com/set"
		known := map[string]bool{"s": true}
		owned := Owned{Labels: []string{label}, Of: func(pod *metav1.PartialObjectMetadata) (string, types.NamespacedName, bool) {
			name := pod.OwnerReferences[0].Name
			return "Set", types.NamespacedName{Namespace: pod.Namespace, Name: name}, known[name]
		}}
		of := func(name, set string) *metav1.PartialObjectMetadata {
			pod := ended("a", name, map[string]string{label: "any"})
			pod.OwnerReferences = []metav1.OwnerReference{{Name: set}}
			return pod
		}
		server := &podServer{byPhase: map[corev1.PodPhase][]*metav1.PartialObjectMetadata{
			corev1.PodSucceeded: {of("1", "s"), of("2", "unknown")},
		}}
		var mu sync.Mutex
		var told []string
		pods, err := Follow(server.client(), clock.RealClock{}, owned, func(pod Pod) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprintf("%s of %s by %s, gone: %t", pod.UID, pod.Group, pod.Label, pod.Gone))
		})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(want ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(told)
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			told = nil
		}
		var running sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		defer running.Wait()
		defer stop()
		running.Go(func() { pods.Run(ctx) })
		synctest.Wait()
		expect("1 of a/s by Set, gone: false")
		delete(known, "s")
		server.show(watch.Added, corev1.PodSucceeded, of("3", "s"))
		expect()
		server.show(watch.Deleted, corev1.PodSucceeded, of("1", "s"))
		expect("1 of a/s by Set, gone: true")
		server.show(watch.Added, corev1.PodSucceeded, of("1", "s"))
		expect() // it was forgotten
	})
}
