package placeholder

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
)

// callTimeout is how long the API server may take to answer.
const callTimeout = 10 * time.Second

// RESTClient is a [Client] to the API server.
type RESTClient struct {
	*nomination.RESTClient

	core kubernetes.Interface
}

// NewClient makes one.
func NewClient(core kubernetes.Interface) *RESTClient {
	return &RESTClient{nomination.NewClient(core.CoreV1().RESTClient(), clock.RealClock{}), core}
}

// Create implements [Client].
func (c *RESTClient) Create(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := c.core.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{FieldManager: cluster.FieldManager})
	return err
}

// Delete implements [Client]. A pod that is gone is no error.
func (c *RESTClient) Delete(ctx context.Context, pod *corev1.Pod) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := c.core.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID)),
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// Watch is [Pods] of a namespace, as a watch shows them.
type Watch struct {
	factory  informers.SharedInformerFactory
	informer cache.SharedIndexInformer
	pods     corev1listers.PodNamespaceLister
}

// NewWatch returns a Watch that shows nothing until it is run.
func NewWatch(client kubernetes.Interface, namespace string) *Watch {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = v1alpha1.LabelPlaceholder + "=true" }))
	pods := factory.Core().V1().Pods()
	return &Watch{factory: factory, informer: pods.Informer(), pods: pods.Lister().Pods(namespace)}
}

// Synced reports whether it shows what there was when it began.
func (w *Watch) Synced() bool { return w.informer.HasSynced() }

// WaitForSync returns when it does, or with the error of the context.
func (w *Watch) WaitForSync(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), w.Synced) {
		return context.Cause(ctx)
	}
	return nil
}

// Run watches until the context ends.
func (w *Watch) Run(ctx context.Context) {
	w.factory.StartWithContext(ctx)
	<-ctx.Done()
	w.factory.Shutdown()
}

// Pods implements [Pods]. One that is being deleted is there no more, and one without the gate was never one.
func (w *Watch) Pods() map[string]*corev1.Pod {
	pods, _ := w.pods.List(labels.Everything()) // of a cache, which does not fail
	present := make(map[string]*corev1.Pod, len(pods))
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil && cluster.IsPlaceholderPod(pod) {
			present[pod.Name] = pod
		}
	}
	return present
}
