package scaleup

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/rescheduler/planner"
)

// ProvisioningRequests returns the resource by which cluster autoscalers are asked for nodes.
func ProvisioningRequests() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "autoscaling.x-k8s.io", Version: "v1", Resource: "provisioningrequests"}
}

// LabelRequest is on all that Requests make, with the value true.
const LabelRequest = "rescheduling.muster.dev/scale-up"

// maxPodSets is how many a ProvisioningRequest may have.
const maxPodSets = 32

// RequestOptions say what Requests ask for, and how. All are required but Parameters.
type RequestOptions struct {
	Logger  *slog.Logger
	Clock   clock.PassiveClock
	Core    kubernetes.Interface
	Objects dynamic.Interface
	// ClassName is the provisioning class, and Parameters are its own.
	ClassName  string
	Parameters map[string]string
}

// Requests asks a cluster autoscaler for nodes: by one ProvisioningRequest for each pod or gang that needs
// some, and a PodTemplate for each kind of pods in it. They belong to the pod or the PodGroup, so they go with
// it, and are deleted when none of the pods waits any more. To ask for the same again does nothing, since their
// names come from the UID of the pod or PodGroup, and from how often it was asked for. A failed request is
// repeated, more and more rarely.
//
// It belongs to one goroutine.
type Requests struct {
	RequestOptions

	absent bool // the cluster does not know ProvisioningRequests, as was said
}

// NewRequests asks by requests of a provisioning class.
func NewRequests(o RequestOptions) *Requests { return &Requests{RequestOptions: o} }

// reconcile makes the requests for groups that need nodes. It deletes requests that no pod waits for, and
// requests that were repeated.
func (r *Requests) reconcile(ctx context.Context, c *cluster.Cluster, needs []planner.Refusal) {
	list, err := r.Objects.Resource(ProvisioningRequests()).List(ctx, metav1.ListOptions{LabelSelector: LabelRequest})
	if !r.known(err) {
		return
	}
	snap, waiting := c.Snapshot(), sets.New[string]()
	for _, pod := range planner.Waiting(c) {
		waiting.Insert(pod.Namespace + "/" + subjectOf(snap, pod).name)
	}
	last := map[string]attempt{}
	for i := range list.Items {
		if of := attemptOf(&list.Items[i]); of.number > last[of.subject].number {
			last[of.subject] = of
		}
	}
	for i := range needs {
		pods := needs[i].Pods
		subject := subjectOf(snap, pods[0])
		name := pods[0].Namespace + "/" + subject.name
		before := last[name]
		if before.request != nil && !r.anew(before) {
			continue
		}
		next := attempt{subject: name, number: before.number + 1}
		if err := r.create(ctx, subject, next.number, pods); err != nil {
			r.Logger.Warn("cannot create a ProvisioningRequest", "request", nameOfAttempt(name, next.number), "err", err)
			continue
		}
		last[name] = next
	}
	for i := range list.Items {
		request := &list.Items[i]
		if of := attemptOf(request); waiting.Has(of.subject) && of.number == last[of.subject].number {
			continue
		}
		if err := r.delete(ctx, request); err != nil {
			r.Logger.Warn("cannot delete a ProvisioningRequest", "request", request.GetNamespace()+"/"+request.GetName(), "err", err)
		}
	}
}

// known reports whether the cluster has ProvisioningRequests, by the error of listing them. That it has
// none is said once.
func (r *Requests) known(err error) bool {
	switch {
	case apierrors.IsNotFound(err):
		if !r.absent {
			r.Logger.Warn("no nodes are asked for: the cluster does not know ProvisioningRequests", "resource", ProvisioningRequests().String())
		}
		r.absent = true
		return false
	case err != nil:
		r.Logger.Warn("cannot list ProvisioningRequests", "err", err)
		return false
	}
	if r.absent {
		r.Logger.Info("nodes are asked for from now on: the cluster knows ProvisioningRequests")
	}
	r.absent = false
	return true
}

// subject is the subject of a request.
type subject struct {
	name   string // of the request
	owners []metav1.OwnerReference
}

// subjectOf returns the pod, or its gang. A gang without an object has no UID: its name stands for it,
// and its pods own what is made for it.
func subjectOf(snap *cluster.Snapshot, pod *cluster.Pod) subject {
	key, member := membership.Of(pod)
	if !member {
		return subject{"muster-" + string(pod.UID), []metav1.OwnerReference{ownerOf(pod)}}
	}
	if object := membership.Object(snap, key); object != nil {
		return subject{"muster-" + string(object.GetUID()), []metav1.OwnerReference{{
			APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Name: object.GetName(), UID: object.GetUID(),
		}}}
	}
	return subject{name: fmt.Sprintf("muster-%x", sha256.Sum224([]byte(key.Label+"/"+key.Name)))}
}

func ownerOf(pod *cluster.Pod) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
}

// create makes a request and what it refers to. The templates come first: a request must not be
// seen without them.
func (r *Requests) create(ctx context.Context, s subject, number int, pods []*cluster.Pod) error {
	if s.owners == nil {
		for _, pod := range pods {
			s.owners = append(s.owners, ownerOf(pod))
		}
	}
	kinds := kindsOf(pods)
	if len(kinds) > maxPodSets {
		return fmt.Errorf("the pods are of %d kinds, and a ProvisioningRequest has at most %d", len(kinds), maxPodSets)
	}
	options := metav1.CreateOptions{FieldManager: cluster.FieldManager}
	meta := metav1.ObjectMeta{
		Namespace: pods[0].Namespace, Name: nameOfAttempt(s.name, number), OwnerReferences: s.owners,
		Labels: map[string]string{LabelRequest: "true", LabelAttempt: strconv.Itoa(number)},
	}
	var podSets []any
	for i, kind := range kinds {
		template := &corev1.PodTemplate{ObjectMeta: *meta.DeepCopy(), Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: kind.example.Labels, Annotations: kind.example.Annotations},
			Spec:       kind.example.Spec,
		}}
		template.Name = fmt.Sprintf("%s-%d", meta.Name, i)
		if _, err := r.Core.CoreV1().
			PodTemplates(template.Namespace).
			Create(ctx, template, options); err != nil &&
			!apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create PodTemplate %s: %w", template.Name, err)
		}
		podSets = append(podSets, map[string]any{"count": kind.count, "podTemplateRef": map[string]any{"name": template.Name}})
	}
	spec := map[string]any{"provisioningClassName": r.ClassName, "podSets": podSets}
	if len(r.Parameters) > 0 {
		parameters := map[string]any{}
		for name, value := range r.Parameters {
			parameters[name] = value
		}
		spec["parameters"] = parameters
	}
	request := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	request.SetAPIVersion(ProvisioningRequests().GroupVersion().String())
	request.SetKind("ProvisioningRequest")
	request.SetNamespace(meta.Namespace)
	request.SetName(meta.Name)
	request.SetLabels(meta.Labels)
	request.SetOwnerReferences(meta.OwnerReferences)
	_, err := r.Objects.Resource(ProvisioningRequests()).Namespace(meta.Namespace).Create(ctx, request, options)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	r.Logger.Info("asked for nodes", "request", meta.Namespace+"/"+meta.Name, "requestClass", r.ClassName, "pods", len(pods))
	return nil
}

// kind is pods that a scheduler cannot tell apart by their specs.
type kind struct {
	example *cluster.Pod
	count   int64
}

func kindsOf(pods []*cluster.Pod) (kinds []*kind) {
next:
	for _, pod := range pods {
		for _, known := range kinds {
			if equality.Semantic.DeepEqual(known.example.Spec, pod.Spec) {
				known.count++
				continue next
			}
		}
		kinds = append(kinds, &kind{example: pod, count: 1})
	}
	return kinds
}

// delete deletes a request, after what it refers to: else nobody would know that any more.
func (r *Requests) delete(ctx context.Context, request *unstructured.Unstructured) error {
	podSets, _, _ := unstructured.NestedSlice(request.Object, "spec", "podSets")
	for _, podSet := range podSets {
		fields, _ := podSet.(map[string]any)
		name, _, _ := unstructured.NestedString(fields, "podTemplateRef", "name")
		if err := r.Core.CoreV1().
			PodTemplates(request.GetNamespace()).
			Delete(ctx, name, metav1.DeleteOptions{}); err != nil &&
			!apierrors.IsNotFound(err) {
			return fmt.Errorf("delete PodTemplate %s: %w", name, err)
		}
	}
	err := r.Objects.Resource(ProvisioningRequests()).Namespace(request.GetNamespace()).Delete(ctx, request.GetName(), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
