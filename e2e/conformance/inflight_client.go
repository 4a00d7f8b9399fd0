package conformance

import (
	"context"
	"errors"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// bindingAnswer is the answer of the API server to a binding.
type bindingAnswer int

const (
	bindingMade        bindingAnswer = iota
	bindingDenied                    // by an admission webhook
	bindingLost                      // it is not made, and muster does not hear so
	bindingMadeUnheard               // it is made, and muster does not hear so
)

// apiClient is muster's way to the API server: what it calls to bind and to nominate pods.
type apiClient struct {
	kubernetes.Interface
	api *apiServer
	// answer draws what becomes of a binding that may be made.
	answer func() bindingAnswer
	// taken is told of each binding before it is made, doubted of each that is lost, and known of each that muster finds
	// out to be lost.
	taken, doubted func(pod *corev1.Pod, node string)
	known          func(pod *corev1.Pod)
	// cut fails the next call to read a pod or to write to it, which cuts draws for each binding that is not heard of. Such
	// a binding has no answer then, and else one that says that it failed.
	cut  bool
	cuts func() bool
}

func (c *apiClient) CoreV1() corev1client.CoreV1Interface { return &coreClient{of: c} }

type coreClient struct {
	corev1client.CoreV1Interface
	of *apiClient
}

func (c *coreClient) Pods(string) corev1client.PodInterface { return &podClient{of: c.of} }

type podClient struct {
	corev1client.PodInterface
	of *apiClient
}

// Get finds a pod by its name, which no other one has in any namespace.
func (c *podClient) Get(_ context.Context, name string, _ metav1.GetOptions) (*corev1.Pod, error) {
	if c.of.cut {
		c.of.cut = false
		return nil, io.ErrUnexpectedEOF
	}
	return c.find(name)
}

// Patch writes to a pod as muster does to find out what became of a binding: nothing that a predicate reads.
func (c *podClient) Patch(
	_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string,
) (*corev1.Pod, error) {
	if c.of.cut {
		c.of.cut = false
		return nil, io.ErrUnexpectedEOF
	}
	pod, err := c.find(name)
	if err != nil {
		return nil, err
	}
	next := pod.DeepCopy()
	c.of.api.setPod(next)
	return next, nil
}

func (c *podClient) find(name string) (*corev1.Pod, error) {
	for _, pod := range c.of.api.podsThat(func(pod *corev1.Pod) bool { return pod.Name == name }) {
		return pod, nil
	}
	c.of.api.hasTold(name)
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), name)
}

// How long muster counts on a pod that it has bound, while the watch does not show it: heard and not.
const (
	heardFor   = assumeTTL
	unheardFor = 5 * time.Second
)

// failure is an answer that says nothing of what became of a binding: muster finds out.
func failure() error { return apierrors.NewInternalError(errors.New("etcd does not answer")) }

// Bind binds a pod as the API server does (assignPod in pkg/registry/core/pod/storage/storage.go).
func (c *podClient) Bind(_ context.Context, b *corev1.Binding, _ metav1.CreateOptions) error {
	pod, err := c.find(b.Name)
	switch {
	case err != nil:
		return err
	case pod.UID != b.UID:
		return apierrors.NewConflict(corev1.Resource("pods/binding"), b.Name, errors.New("the UID in the precondition is another one"))
	case pod.DeletionTimestamp != nil || pod.Spec.NodeName != "":
		return apierrors.NewConflict(corev1.Resource("pods/binding"), b.Name, errors.New("the pod is assigned, or being deleted"))
	}
	switch c.of.answer() {
	case bindingDenied:
		return apierrors.NewForbidden(corev1.Resource("pods/binding"), b.Name, errors.New("no"))
	case bindingLost:
		if c.of.cut = c.of.cuts(); c.of.cut {
			c.of.doubted(pod, b.Target.Name)
			return io.ErrUnexpectedEOF
		}
		c.of.known(pod)
		return failure()
	case bindingMadeUnheard:
		c.of.taken(pod, b.Target.Name)
		if c.of.cut = c.of.cuts(); c.of.cut {
			c.of.api.bind(pod, b.Target.Name, unheardFor)
			return io.ErrUnexpectedEOF
		}
		c.of.api.bind(pod, b.Target.Name, heardFor)
		return failure()
	case bindingMade:
		c.of.taken(pod, b.Target.Name)
		c.of.api.bind(pod, b.Target.Name, heardFor)
	}
	return nil
}

// Nominate implements nomination.Client.
func (c *apiClient) Nominate(_ context.Context, pod *corev1.Pod, node string) error {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	now := c.api.pods.there[pod.UID]
	if now == nil || now.ResourceVersion != pod.ResourceVersion {
		return apierrors.NewConflict(corev1.Resource("pods"), pod.Name, errors.New("the pod was changed"))
	}
	next := now.DeepCopy()
	next.Status.NominatedNodeName = node
	c.api.storePod(next)
	return nil
}
