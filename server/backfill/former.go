package backfill

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/placement/runtimes"
)

// Former follows the pods that have succeeded, and learns how long they ran: after a restart of all that the API server has still.
type Former struct {
	informer cache.SharedIndexInformer
	learned  cache.InformerSynced // of all that there were at first
}

// NewFormer returns a Former that learns nothing until it is run.
func NewFormer(client kubernetes.Interface, history *runtimes.History) (*Former, error) {
	informer := coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, 0, cache.Indexers{}, func(options *metav1.ListOptions) {
		options.FieldSelector = fields.OneTermEqualSelector("status.phase", string(corev1.PodSucceeded)).String()
	})
	registered, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{AddFunc: func(object any, old bool) {
		if pod, ok := object.(*corev1.Pod); ok {
			history.Learn(pod, old)
		}
	}})
	if err != nil {
		return nil, fmt.Errorf("follow pods that have succeeded: %w", err)
	}
	if err := informer.SetTransform(trim); err != nil {
		return nil, fmt.Errorf("follow pods that have succeeded: %w", err)
	}
	return &Former{informer, registered.HasSynced}, nil
}

// Run learns until the context ends.
func (f *Former) Run(ctx context.Context) { f.informer.RunWithContext(ctx) }

// Once learns of the pods that there are, and returns.
func (f *Former) Once(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { f.Run(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), f.learned) {
		return fmt.Errorf("read pods that have succeeded: %w", context.Cause(ctx))
	}
	return nil
}

// trim keeps of a pod what [runtimes.History.Learn] reads.
func trim(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	kept := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace, UID: pod.UID, ResourceVersion: pod.ResourceVersion},
		Spec:       corev1.PodSpec{ActiveDeadlineSeconds: pod.Spec.ActiveDeadlineSeconds},
		Status:     corev1.PodStatus{Phase: pod.Status.Phase, StartTime: pod.Status.StartTime},
	}
	if runtime, says := pod.Annotations[v1alpha1.AnnotationExpectedRuntime]; says {
		kept.Annotations = map[string]string{v1alpha1.AnnotationExpectedRuntime: runtime}
	}
	if owner := metav1.GetControllerOf(pod); owner != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	for i := range pod.Status.ContainerStatuses {
		kept.Status.ContainerStatuses = append(kept.Status.ContainerStatuses, corev1.ContainerStatus{
			State: corev1.ContainerState{Terminated: ended(&pod.Status.ContainerStatuses[i])},
		})
	}
	return kept, nil
}

func ended(status *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if status.State.Terminated == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{FinishedAt: status.State.Terminated.FinishedAt}
}
