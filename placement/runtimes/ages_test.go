package runtimes

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// The API server is ahead of this process by a day, and the pod may be ahead of the API server.
func TestAgesAreByTheStampsOfTheAPIServer(t *testing.T) {
	annotated := func(name, value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations = map[string]string{name: value} }
	}
	saved := func(w *world, ago time.Duration) func(*corev1.Pod) {
		return annotated(v1alpha1.AnnotationCheckpointedAt, w.here.Now().Add(ahead-ago).Format(time.RFC3339))
	}
	created := func(w *world, ago time.Duration) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(w.here.Now().Add(ahead - ago)) }
	}
	unbound := func(pod *corev1.Pod) { pod.Status.Conditions = nil }
	for name, test := range map[string]struct {
		bound  time.Duration // ago
		change func(w *world) []func(*corev1.Pod)
		owed   time.Duration
		loss   time.Duration // of a pod that holds all
	}{
		"it asks for nothing": {10 * time.Minute, func(*world) []func(*corev1.Pod) { return nil }, 0, 10 * time.Minute},
		"it asks for more": {10 * time.Minute, func(*world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){annotated(v1alpha1.AnnotationMinRuntime, "15m")}
		}, 5 * time.Minute, 10 * time.Minute},
		"it asks for less": {10 * time.Minute, func(*world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){annotated(v1alpha1.AnnotationMinRuntime, "5m")}
		}, 0, 10 * time.Minute},
		"it waited for its node": {10 * time.Minute, func(w *world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){annotated(v1alpha1.AnnotationMinRuntime, "15m"), created(w, time.Hour)}
		}, 5 * time.Minute, 10 * time.Minute},
		"it was created on its node": {0, func(w *world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){annotated(v1alpha1.AnnotationMinRuntime, "15m"), created(w, 10*time.Minute), unbound}
		}, 5 * time.Minute, 10 * time.Minute},
		"somebody's clock has it begin next year": {-8760 * time.Hour, func(w *world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){annotated(v1alpha1.AnnotationMinRuntime, "15m"), created(w, 10*time.Minute)}
		}, 5 * time.Minute, 10 * time.Minute},
		"it asks for a year": {10 * time.Minute, func(*world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){annotated(v1alpha1.AnnotationMinRuntime, "8760h")}
		}, 50 * time.Minute, 10 * time.Minute},
		"it asks for nonsense": {10 * time.Minute, func(*world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){annotated(v1alpha1.AnnotationMinRuntime, "-15m")}
		}, 0, 10 * time.Minute},
		"it has saved its work": {10 * time.Minute, func(w *world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){saved(w, time.Minute)}
		}, 0, time.Minute},
		"it will have": {10 * time.Minute, func(w *world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){saved(w, -time.Hour)}
		}, 0, 0},
		"it had before": {10 * time.Minute, func(w *world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){saved(w, time.Hour)}
		}, 0, 10 * time.Minute},
		"it saves nonsense": {10 * time.Minute, func(*world) []func(*corev1.Pod) {
			return []func(*corev1.Pod){annotated(v1alpha1.AnnotationCheckpointedAt, "2030-13-01T00:00:00Z")}
		}, 0, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.stamps.See(w.here.Now().Add(ahead))
			change := append(test.change(w), func(pod *corev1.Pod) {
				pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
			})
			w.bound("p", test.bound, change...)
			pod := w.cluster.Snapshot().NodeByName("n").Pods[0]
			ages := w.stamps.Ages(cluster.Resources{MilliCPU: 2000, Memory: 1 << 30})
			if got := ages.Owed(pod); got != test.owed {
				t.Errorf("it is to run for %s more, want %s", got, test.owed)
			}
			if got := ages.Loss(pod); math.Abs(got-test.loss.Seconds()) > 1e-6 {
				t.Errorf("%f seconds are lost, want %f", got, test.loss.Seconds())
			}
		})
	}
}
