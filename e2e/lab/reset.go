package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/workload"
)

const (
	// atATime is how many requests are on their way.
	atATime = 8
	// resetTimeout bounds a reset. It takes a second; a namespace of thousands of pods takes some.
	resetTimeout = 2 * time.Minute
)

// object is one of the API server's, whatever its kind.
type object struct {
	resource schema.GroupVersionResource
	meta     metav1.ObjectMeta
}

// inventory lists the objects of an API server, by UID.
type inventory map[types.UID]object

// unsteady are resources that the API server or a controller writes by itself, so that a change says nothing of a test.
var unsteady = map[string]bool{
	"apiservices": true, "configmaps": true, "customresourcedefinitions": true, "endpoints": true, "endpointslices": true,
	"events": true, "flowschemas": true, "leases": true, "prioritylevelconfigurations": true, "servicecidrs": true,
}

// takeStock lists everything that the API server can list and delete.
func (p *plane) takeStock(ctx context.Context) (inventory, error) {
	resources, err := p.resources()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	found := inventory{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	for _, resource := range resources {
		group.Go(func() error {
			list, err := p.metadata.Resource(resource).List(ctx, metav1.ListOptions{})
			switch {
			case apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsServiceUnavailable(err):
				return nil // its definition or its server has just gone
			case err != nil:
				return fmt.Errorf("list %s: %w", resource.GroupResource(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, item := range list.Items {
				found[item.UID] = object{resource, item.ObjectMeta}
			}
			return nil
		})
	}
	return found, group.Wait()
}

// resources lists what can be listed and deleted, in the version that the API server prefers.
func (p *plane) resources() (found []schema.GroupVersionResource, err error) {
	lists, err := discovery.ServerPreferredResources(p.client.Discovery())
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // a server that a test registered is gone
		return nil, fmt.Errorf("ask what the API server serves: %w", err)
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && slices.Contains(resource.Verbs, "delete") {
				found = append(found, version.WithResource(resource.Name))
			}
		}
	}
	return found, nil
}

// reset stops what a test started and deletes what is new, until nothing is.
func (p *plane) reset(ctx context.Context) error {
	if err := p.quiesce(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, resetTimeout, errors.New("it took too long"))
	defer cancel()
	changed := false // what the API server does to pods that are created
	for {
		now, err := p.takeStock(ctx)
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		left := maps.Clone(now)
		maps.DeleteFunc(left, func(uid types.UID, _ object) bool {
			_, known := p.before[uid]
			return known
		})
		if len(left) == 0 && changed {
			err = p.awaitAdmission(ctx)
		}
		if len(left) == 0 {
			return errors.Join(err, p.restore(ctx, now))
		}
		for _, o := range left {
			changed = changed || o.resource.Group == admissionregistrationv1.GroupName
		}
		if err := p.remove(ctx, left); err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// awaitAdmission returns when no policy or webhook changes pods any more: members of gangs, pods that are placed ahead, and
// managed pods.
func (p *plane) awaitAdmission(ctx context.Context) error {
	pod := workload.NewPod("trial", "1", workload.Labelled(v1alpha1.LabelX, "trial"), workload.Labelled(v1alpha1.LabelAhead, "true"))
	return await.Until(ctx, "pods are created as they are", func(ctx context.Context) error {
		made, err := p.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && (len(made.Spec.SchedulingGates) > 0 || len(made.Spec.Containers[0].Resources.Limits) > 0) {
			err = fmt.Errorf("one has gates %v and limits %v", made.Spec.SchedulingGates, made.Spec.Containers[0].Resources.Limits)
		}
		return err
	})
}

// remove deletes objects at once. What their finalizers wait for does not come, as no controller runs.
func (p *plane) remove(ctx context.Context, left inventory) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atATime)
	single, crowds := p.sort(left)
	for place := range crowds {
		group.Go(func() error {
			now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
			return p.metadata.Resource(place.resource).Namespace(place.namespace).DeleteCollection(ctx, now, metav1.ListOptions{})
		})
	}
	for _, o := range single {
		group.Go(func() error {
			if err := p.removeOne(ctx, o); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				return fmt.Errorf("delete %s %s/%s: %w", o.resource.Resource, o.meta.Namespace, o.meta.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// place is where objects of one resource are.
type place struct {
	resource  schema.GroupVersionResource
	namespace string
}

// sort tells the objects to delete one at a time from the places where everything may go with one request: there are many, none
// was there before, and none has a finalizer.
func (p *plane) sort(left inventory) (single []object, crowds map[place]bool) {
	const many = 20
	counts, mixed := map[place]int{}, map[place]bool{}
	for _, o := range p.before {
		mixed[place{o.resource, o.meta.Namespace}] = true
	}
	for _, o := range left {
		at := place{o.resource, o.meta.Namespace}
		counts[at]++
		mixed[at] = mixed[at] || len(o.meta.Finalizers) > 0
	}
	crowds = map[place]bool{}
	for _, o := range left {
		if at := (place{o.resource, o.meta.Namespace}); counts[at] >= many && !mixed[at] {
			crowds[at] = true
		} else {
			single = append(single, o)
		}
	}
	return single, crowds
}

func (p *plane) removeOne(ctx context.Context, o object) error {
	if o.resource.Group == "" && o.resource.Resource == "namespaces" && o.meta.DeletionTimestamp != nil {
		gone := &corev1.Namespace{ObjectMeta: o.meta}
		_, err := p.client.CoreV1().Namespaces().Finalize(ctx, gone, metav1.UpdateOptions{})
		return err
	}
	client := p.metadata.Resource(o.resource).Namespace(o.meta.Namespace)
	if len(o.meta.Finalizers) > 0 && o.resource.Resource != "customresourcedefinitions" {
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		if _, err := client.Patch(ctx, o.meta.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	return client.Delete(ctx, o.meta.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)), PropagationPolicy: new(metav1.DeletePropagationBackground),
		Preconditions: &metav1.Preconditions{UID: &o.meta.UID},
	})
}

// restore sets the labels of namespaces as they were. Whatever else of before is gone or another cannot be used again.
func (p *plane) restore(ctx context.Context, now inventory) error {
	for uid, was := range p.before {
		is, there := now[uid]
		switch {
		case unsteady[was.resource.Resource]:
		case !there:
			return fmt.Errorf("%s %s is gone", was.resource.Resource, was.meta.Name)
		case is.meta.ResourceVersion == was.meta.ResourceVersion:
		case was.resource.Resource == "namespaces":
			namespace, err := p.client.CoreV1().Namespaces().Get(ctx, was.meta.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			namespace.Labels, namespace.Annotations = was.meta.Labels, was.meta.Annotations
			if namespace, err = p.client.CoreV1().Namespaces().Update(ctx, namespace, metav1.UpdateOptions{}); err != nil {
				return err
			}
			was.meta.ResourceVersion = namespace.ResourceVersion
			p.before[uid] = was
		default:
			return fmt.Errorf("%s %s was changed", was.resource.Resource, was.meta.Name)
		}
	}
	return nil
}
