package executor

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/reservation"
)

// callTimeout is how long the API server may take to answer. Without an answer it is not known what
// has become of a call, and the watch tells.
const callTimeout = 10 * time.Second

// RESTClient is a [Client] of the API server, and writes plans besides.
type RESTClient struct {
	*reservation.RESTWriter

	core        kubernetes.Interface
	plans       dynamic.ResourceInterface
	nominations *nomination.RESTClient
}

// NewClient makes one.
func NewClient(core kubernetes.Interface, objects dynamic.Interface) *RESTClient {
	return &RESTClient{
		RESTWriter: reservation.NewWriter(objects), core: core, plans: objects.Resource(v1alpha1.ReschedulingPlans()),
		nominations: nomination.NewClient(core.CoreV1().RESTClient(), clock.RealClock{}),
	}
}

// errNoDefinition says what to do about an API server that does not know the kind of plans.
var errNoDefinition = errors.New("the CustomResourceDefinition reschedulingplans." + v1alpha1.Group +
	" is missing: 'kubectl apply --server-side -f charts/muster/crds' brings it")

// Create creates a plan, and returns it as it is then.
func (c *RESTClient) Create(ctx context.Context, plan *v1alpha1.ReschedulingPlan) (*v1alpha1.ReschedulingPlan, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	object, err := v1alpha1.Encode(plan)
	if err != nil {
		return nil, err
	}
	created, err := c.plans.Create(ctx, object, metav1.CreateOptions{FieldManager: cluster.FieldManager})
	if apierrors.IsNotFound(err) { // what is created is not there either way: the resource is meant
		return nil, errNoDefinition
	}
	if err != nil {
		return nil, err
	}
	return v1alpha1.Decode(created)
}

// Delete deletes a plan.
func (c *RESTClient) Delete(ctx context.Context, plan *v1alpha1.ReschedulingPlan) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.plans.Delete(ctx, plan.Name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(plan.UID))})
}

// Evict implements [Client]. It does not repeat what is answered with 429, as client-go would.
func (c *RESTClient) Evict(ctx context.Context, pod v1alpha1.PodReference) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	}
	return c.core.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("eviction").
		MaxRetries(0).Body(eviction).Do(ctx).Error()
}

// EditNode implements [Client].
func (c *RESTClient) EditNode(ctx context.Context, node *corev1.Node, edit func(*corev1.Node)) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	fresh, err := c.core.CoreV1().Nodes().Get(ctx, node.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if fresh.UID != node.UID {
		return apierrors.NewConflict(corev1.Resource("nodes"), node.Name, errors.New("it is another node of that name"))
	}
	edited := fresh.DeepCopy()
	edit(edited)
	if equality.Semantic.DeepEqual(fresh, edited) {
		return nil
	}
	fresh.ResourceVersion, fresh.UID = "", "" // so that the patch has the values of edited, as preconditions
	before, err := json.Marshal(fresh)
	if err != nil {
		return err
	}
	after, err := json.Marshal(edited)
	if err != nil {
		return err
	}
	patch, err := strategicpatch.CreateTwoWayMergePatch(before, after, corev1.Node{})
	if err != nil {
		return err
	}
	return c.patchNode(ctx, node.Name, types.StrategicMergePatchType, patch)
}

// AnnotateNode sets annotations of a node of that UID, or takes those off that are "", whatever else of the node
// changes meanwhile.
func (c *RESTClient) AnnotateNode(ctx context.Context, node *corev1.Node, annotations map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	changes := map[string]any{}
	for name, value := range annotations {
		if changes[name] = value; value == "" {
			changes[name] = nil
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": node.UID, "annotations": changes}})
	if err != nil {
		return err
	}
	return c.patchNode(ctx, node.Name, types.MergePatchType, patch)
}

func (c *RESTClient) patchNode(ctx context.Context, name string, how types.PatchType, patch []byte) error {
	_, err := c.core.CoreV1().Nodes().Patch(ctx, name, how, patch, metav1.PatchOptions{FieldManager: cluster.FieldManager})
	return err
}

// Nominate implements [Client].
func (c *RESTClient) Nominate(ctx context.Context, pod *corev1.Pod, node string) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return c.nominations.Nominate(ctx, pod, node)
}
