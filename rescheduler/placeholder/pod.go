package placeholder

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/utils/clock"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/reservation"
)

// image is of no use: no placeholder pod ever runs.
const image = "muster.dev/placeholder/never-runs"

// name returns how the placeholder pod of room is called.
func name(r *reservation.Room) string { return nameOf(r.Plan, r.Name) }

func nameOf(plan *reschedulingv1alpha1.ReschedulingPlan, room string) string {
	return plan.Name + "-" + room
}

// isOf reports whether a pod is the placeholder pod of room, as its plan and its node are now.
func isOf(pod *corev1.Pod, r *reservation.Room) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.UID == r.Plan.UID && pod.Name == name(r) &&
		(pod.Status.NominatedNodeName == "" || pod.Status.NominatedNodeName == r.Node)
}

// newPlaceholderPod returns the placeholder pod of room. It meets the restricted Pod Security Standard, unless there are
// host ports.
func newPlaceholderPod(namespace string, r *reservation.Room) *corev1.Pod {
	yes, no, object := true, false, r.For.Pod
	version, kind := reschedulingv1alpha1.ReschedulingPlans().GroupVersion().String(), reschedulingv1alpha1.Kind
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name(r), Labels: map[string]string{v1alpha1.LabelPlaceholder: "true", v1alpha1.LabelAhead: "false"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: r.Plan.Name, UID: r.Plan.UID, Controller: &yes}},
		},
		Spec: corev1.PodSpec{
			SchedulerName:                 object.Spec.SchedulerName,
			SchedulingGates:               []corev1.PodSchedulingGate{{Name: v1alpha1.PlaceholderGate}},
			PriorityClassName:             object.Spec.PriorityClassName,
			RestartPolicy:                 corev1.RestartPolicyNever,
			TerminationGracePeriodSeconds: new(int64(0)),
			AutomountServiceAccountToken:  &no,
			EnableServiceLinks:            &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "room", Image: image, Ports: ports(r.For.HostPorts), Resources: resources(object),
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// resources returns the total requests of a pod. A resource that may not be overcommitted is limited as well.
func resources(pod *corev1.Pod) corev1.ResourceRequirements {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	limits := corev1.ResourceList{}
	for name, amount := range requests {
		if amount.IsZero() {
			delete(requests, name)
		} else if strings.Contains(string(name), "/") || strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			limits[name] = amount
		}
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}
}

// ports has a container take these ports of its node.
func ports(of []cluster.HostPort) (ports []corev1.ContainerPort) {
	for _, p := range of {
		ports = append(ports, corev1.ContainerPort{HostIP: p.IP, HostPort: p.Port, ContainerPort: p.Port, Protocol: p.Protocol})
	}
	return ports
}

// keepsLess says why a placeholder pod keeps less room than it should, "" when it does not: what priority a class stands
// for is not the pod's to say, and others may change pods as they are created.
func keepsLess(pod *corev1.Pod, r *reservation.Room) string {
	if is, want := corev1helpers.PodPriority(pod), corev1helpers.PodPriority(r.For.Pod); is < want {
		return fmt.Sprintf("the placeholder pod %s has the priority %d, less than %d", pod.Name, is, want)
	}
	return ""
}

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
