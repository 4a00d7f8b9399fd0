package attack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// honest are small pods of others, which end when they say, and the machines on which they run. There are always some more than
// have room at once. Of pods of the tenant the machines run the ones that are to end as well.
type honest struct {
	g    *ground
	live int // pods at a time

	mu      sync.Mutex
	started map[string]time.Time // of pods that run, by namespace/name
	count   int                  // of pods that were created
	ends    int
	err     error
}

const (
	// endsAnnotation says on a pod for how long machines run it; it may say another time to muster.
	endsAnnotation = "attack.example/ends-after"
	// honestRuntime is how long a pod of others runs on average. Pods differ by up to a half of it, so that they end evenly.
	honestRuntime = 3 * time.Second
	// machineTick is how often machines look.
	machineTick = 150 * time.Millisecond
)

// endsAfter has a pod end, and say when.
func endsAfter(runs, says time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Annotations[endsAnnotation] = runs.String()
		if says > 0 {
			pod.Annotations[v1alpha1.AnnotationExpectedRuntime] = says.String()
		}
	}
}

// work has pods come and end until the function ends that it returns.
func (h *honest) work(ctx context.Context) (stop func() error) {
	ctx, over := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(machineTick)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := h.turn(ctx); err != nil && ctx.Err() == nil {
				h.mu.Lock()
				h.err = err
				h.mu.Unlock()
				return
			}
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
	}()
	return func() error {
		over()
		<-ended
		return h.err
	}
}

// done returns how many pods of others have ended.
func (h *honest) done() (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ends, h.err
}

// turn has pods begin and end that are due to, and has the next pods of others come when some have ended.
func (h *honest) turn(ctx context.Context) error {
	live := 0
	for _, namespace := range []string{othersNamespace, tenantNamespace} {
		pods, err := h.g.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return fmt.Errorf("list the pods of %s: %w", namespace, err)
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if err := h.run(ctx, pod); err != nil {
				return err
			}
			if namespace == othersNamespace && isHonest(pod) && pod.Status.Phase != corev1.PodSucceeded {
				live++
			}
		}
	}
	for range h.live - live {
		h.mu.Lock()
		h.count++
		name := fmt.Sprintf("honest-%d", h.count)
		h.mu.Unlock()
		runs := honestRuntime/2 + time.Duration(h.count*7%20)*honestRuntime/20
		pod := newPod(othersNamespace, name, "1", endsAfter(runs, runs))
		if _, err := h.g.client.CoreV1().Pods(othersNamespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create pod %s: %w", name, err)
		}
	}
	return nil
}

func isHonest(pod *corev1.Pod) bool { return strings.HasPrefix(pod.Name, "honest-") }

// runtimeOf is for how long machines run a pod. It reports false for one that they do not run.
func runtimeOf(pod *corev1.Pod) (time.Duration, bool) {
	runs, err := time.ParseDuration(pod.Annotations[endsAnnotation])
	return runs, err == nil && pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded
}

// run has a pod begin to run that is bound, and end when its time is over. Ended pods are deleted once muster may have learned of them.
func (h *honest) run(ctx context.Context, pod *corev1.Pod) error {
	name, now := pod.Namespace+"/"+pod.Name, time.Now()
	runs, run := runtimeOf(pod)
	if !run {
		return nil
	}
	h.mu.Lock()
	began, is := h.started[name]
	if !is {
		began = now
		h.started[name] = now
	}
	h.mu.Unlock()
	status := fmt.Sprintf(`{"status": {"phase": "Running", "startTime": %q}}`, now.UTC().Format(time.RFC3339))
	over := is && now.Sub(began) >= runs
	if over {
		status = fmt.Sprintf(
			`{"status": {"phase": "Succeeded", "containerStatuses": [{"name": "main", "image": "", "imageID": "", "ready": false, `+
				`"restartCount": 0, "state": {"terminated": {"exitCode": 0, "finishedAt": %q}}}]}}`, now.UTC().Format(time.RFC3339),
		)
	}
	if is && !over {
		return nil
	}
	_, err := h.g.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, strategicMerge, []byte(status), metav1.PatchOptions{}, "status")
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("say how pod %s fares: %w", name, err)
	case over && isHonest(pod):
		h.mu.Lock()
		h.ends++
		delete(h.started, name)
		h.mu.Unlock()
	}
	return nil
}

// waiting names pods of others that have no node, for people.
func (h *honest) waiting(ctx context.Context) []string {
	pods, err := h.g.client.CoreV1().Pods(othersNamespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName="})
	if err != nil {
		return nil
	}
	names := map[string]bool{}
	for i := range pods.Items {
		names[pods.Items[i].Name] = true
	}
	return slices.Sorted(maps.Keys(names))
}
