package nomination

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Client writes nominations.
type Client interface {
	// Nominate sets the nominated node of a pod, "" for none, provided that the pod is
	// still of the version given, else the error is a conflict.
	Nominate(ctx context.Context, pod *corev1.Pod, node string) error
}

// Gates are lifted through the API server.
type Gates interface {
	// LiftGate takes a gate off a pod, whatever its version.
	LiftGate(ctx context.Context, pod *corev1.Pod, gate string) error
}

// Outdated reports whether a write failed since the pod is of another version by now, or gone.
func Outdated(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// AnnotationWoken is changed on a pod to wake it.
const AnnotationWoken = v1alpha1.AnnotationWoken

// NewClient writes through a client of the core API. That should not hold requests
// back: the Nominator does so itself.
func NewClient(core rest.Interface, c clock.PassiveClock) *RESTClient { return &RESTClient{core, c} }

// RESTClient writes to pods through the API server.
type RESTClient struct {
	core  rest.Interface
	clock clock.PassiveClock
}

// Nominate implements [Client]. Requests are not repeated when the API server asks for
// that: the Nominator has to know that it is busy.
func (c *RESTClient) Nominate(ctx context.Context, pod *corev1.Pod, node string) error {
	return c.nominate(ctx, pod, node, map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion})
}

// WakeAll has kube-scheduler try a pod again, and all others of the same or a lower priority that wait
// for room: it is nominated to a node, and that is taken back, which is to kube-scheduler as if a pod
// had gone from there (updatePodInSchedulingQueue in pkg/scheduler/eventhandlers.go). A nomination
// that the pod has already is taken back.
func (c *RESTClient) WakeAll(ctx context.Context, pod *corev1.Pod, node string) error {
	if pod.Status.NominatedNodeName != "" {
		return c.Nominate(ctx, pod, "")
	}
	if err := c.Nominate(ctx, pod, node); err != nil {
		return err
	}
	return c.nominate(ctx, pod, "", map[string]any{"uid": pod.UID}) // of the version that this made
}

func (c *RESTClient) nominate(ctx context.Context, pod *corev1.Pod, node string, metadata map[string]any) error {
	return cluster.PatchPodStatus(c.core, types.MergePatchType, pod, map[string]any{
		"metadata": metadata,
		"status":   map[string]any{"nominatedNodeName": nullIfEmpty(node)},
	}).MaxRetries(0).Do(ctx).Error()
}

// Wake has kube-scheduler try a pod again that it has put aside until an event. It compares
// pods without their status, so that a nomination is no event (isPodUpdated in pkg/scheduler/backend/queue/scheduling_queue.go).
// So an annotation is changed. That can be written with the status, which takes no right to the rest of the pod.
func (c *RESTClient) Wake(ctx context.Context, pod *corev1.Pod) error {
	return cluster.PatchPodStatus(c.core, types.MergePatchType, pod, map[string]any{"metadata": map[string]any{
		"uid": pod.UID, "annotations": map[string]string{AnnotationWoken: c.clock.Now().UTC().Format(time.RFC3339Nano)},
	}}).MaxRetries(0).Do(ctx).Error()
}

// Evict deletes a pod as kube-scheduler does when it preempts: its status says first that it
// was disrupted, so that a Job does not count it as failed, and it has its grace period
// (PreemptPod in pkg/scheduler/framework/preemption/executor.go). A pod that is gone is no
// error.
func (c *RESTClient) Evict(ctx context.Context, pod *corev1.Pod, preemptor string) error {
	err := cluster.PatchPodStatus(c.core, types.StrategicMergePatchType, pod, map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler,
			Message: "muster: preempting to accommodate " + preemptor, LastTransitionTime: metav1.NewTime(c.clock.Now()),
		}}},
	}).MaxRetries(0).Do(ctx).Error()
	if err == nil {
		err = c.core.Delete().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
			MaxRetries(0).Body(&metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}).Do(ctx).Error()
	}
	if Outdated(err) {
		return nil
	}
	return err
}

// LiftGate implements [Gates]. It takes a scheduling gate off a pod, whatever its version. Gates that others put on
// it stay.
func (c *RESTClient) LiftGate(ctx context.Context, pod *corev1.Pod, gate string) error {
	return cluster.PatchPod(c.core, types.StrategicMergePatchType, pod, map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"spec":     map[string]any{"schedulingGates": []any{map[string]any{"$patch": "delete", "name": gate}}},
	}).MaxRetries(0).Do(ctx).Error()
}

func nullIfEmpty(node string) any {
	if node == "" {
		return nil
	}
	return node
}

// unanswered reports whether an error leaves open whether the write was made.
func unanswered(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsInternalError(err)
}
