package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

const (
	// slowSync is how often a resource is named whose initial list is outstanding.
	slowSync = 10 * time.Second
	// syncPoll is how often WaitForSync looks.
	syncPoll = 20 * time.Millisecond
	// catchUpRelist is how long CatchUp waits for what it has listed, before it lists again.
	catchUpRelist = time.Second
)

// ClientConfig returns a copy of a client configuration for the Client of a Watcher:
// it speaks protobuf with the core API, where JSON would cost several times the
// time and memory. The other clients of a Watcher can be made from either.
func ClientConfig(config *rest.Config) *rest.Config {
	binary := rest.CopyConfig(config)
	binary.ContentType = runtime.ContentTypeProtobuf
	binary.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return binary
}

// WatchOptions of a Watcher.
type WatchOptions struct {
	Client kubernetes.Interface // required
	// Jobs says to follow Jobs too, where that is allowed: who moves pods reads them, and who asks to what pods belong.
	Jobs bool

	// Optional are resources of PodGroups to follow where the cluster has them: they
	// may appear later and vanish again. See [Objects.Custom].
	Optional []schema.GroupVersionResource
	// Handled are such custom resources, too, whose objects are not kept here.
	Handled map[schema.GroupVersionResource]CustomHandler
	// FindOwner is required for a view that is live and has an Affiliator.
	FindOwner FindOwner
	// Dynamic and Metadata are required when there is something Optional or Handled, and Metadata
	// for CatchUp.
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
}

// Watcher feeds a Cluster from an API server. Its methods are safe for
// concurrent use.
type Watcher struct {
	log      *slog.Logger
	feeds    []*feed
	optional *optionalFeeds        // nil when nothing is optional
	asking   func(context.Context) // asks for owners of pods; nil when there is nothing to ask
	metadata metadata.Interface    // may be nil
}

// NewWatcher returns a Watcher that does nothing until it is run.
func NewWatcher(c *Cluster, o WatchOptions) (*Watcher, error) {
	w := &Watcher{log: c.log, metadata: o.Metadata}
	for _, s := range sources(o) {
		s.client = o.Client
		s.watched = c.Owners.hearing(s.example)
		s.set = func(object apiObject) { w.applied(c.Set(object)) }
		s.remove = func(object apiObject) { w.applied(c.Delete(object)) }
		f, err := newFeed(s, c.log, c.metrics.watchErrors)
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", s.resource, err)
		}
		w.feeds = append(w.feeds, f)
	}
	if c.Owners.live && c.Owners.affiliator != nil {
		if o.FindOwner == nil {
			return nil, errors.New("owners of pods need a function that finds them")
		}
		w.asking = func(ctx context.Context) { c.Owners.ask(ctx, o.FindOwner) }
	}
	if len(o.Optional)+len(o.Handled) > 0 {
		if o.Dynamic == nil || o.Metadata == nil {
			return nil, errors.New("optional resources need a dynamic and a metadata client")
		}
		var err error
		if w.optional, err = newOptionalFeeds(c, o); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// sources returns what a Watcher follows in any cluster.
func sources(o WatchOptions) []source {
	all := coreSources(o.Client)
	if o.Jobs {
		jobs := listWatch(o.Client.BatchV1().Jobs(metav1.NamespaceAll), "")
		all = append(all, source{resource: "jobs", example: &batchv1.Job{}, optional: true, calls: jobs})
	}
	return slices.Concat(all, deviceSources(o.Client), taintRuleSources(o.Client))
}

// deviceSources lists what muster reads of devices. A cluster may serve another version of that API, or none.
func deviceSources(client kubernetes.Interface) []source {
	resources := client.ResourceV1()
	return []source{
		{
			resource: "deviceclasses", example: &resourcev1.DeviceClass{}, optional: true,
			calls: listWatch(resources.DeviceClasses(), ""),
		},
		{
			resource: "resourceslices", example: &resourcev1.ResourceSlice{}, optional: true,
			calls: listWatch(resources.ResourceSlices(), ""),
		},
		{
			resource: "resourceclaims", example: &resourcev1.ResourceClaim{}, optional: true,
			calls: listWatch(resources.ResourceClaims(metav1.NamespaceAll), ""),
		},
		{
			resource: "resourceclaimtemplates", example: &resourcev1.ResourceClaimTemplate{}, optional: true,
			calls: listWatch(resources.ResourceClaimTemplates(metav1.NamespaceAll), ""),
		},
	}
}

// coreSources lists what muster reads of the core API.
func coreSources(client kubernetes.Interface) []source {
	core, apps, storage, policy := client.CoreV1(), client.AppsV1(), client.StorageV1(), client.PolicyV1()
	return []source{
		{resource: "nodes", example: &corev1.Node{}, calls: listWatch(core.Nodes(), "")},
		{resource: "pods", example: &corev1.Pod{}, calls: listWatch(core.Pods(metav1.NamespaceAll), unfinished)},
		{resource: "persistentvolumes", example: &corev1.PersistentVolume{}, calls: listWatch(core.PersistentVolumes(), "")},
		{
			resource: "persistentvolumeclaims",
			example:  &corev1.PersistentVolumeClaim{},
			calls:    listWatch(core.PersistentVolumeClaims(metav1.NamespaceAll), ""),
		},
		{resource: "namespaces", example: &corev1.Namespace{}, calls: listWatch(core.Namespaces(), "")},
		{resource: "services", example: &corev1.Service{}, calls: listWatch(core.Services(metav1.NamespaceAll), "")},
		{
			resource: "replicationcontrollers",
			example:  &corev1.ReplicationController{},
			calls:    listWatch(core.ReplicationControllers(metav1.NamespaceAll), ""),
		},
		{resource: "replicasets", example: &appsv1.ReplicaSet{}, calls: listWatch(apps.ReplicaSets(metav1.NamespaceAll), "")},
		{resource: "statefulsets", example: &appsv1.StatefulSet{}, calls: listWatch(apps.StatefulSets(metav1.NamespaceAll), "")},
		{resource: "storageclasses", example: &storagev1.StorageClass{}, calls: listWatch(storage.StorageClasses(), "")},
		{resource: "csinodes", example: &storagev1.CSINode{}, calls: listWatch(storage.CSINodes(), "")},
		{resource: "volumeattachments", example: &storagev1.VolumeAttachment{}, calls: listWatch(storage.VolumeAttachments(), "")},
		{resource: "csidrivers", example: &storagev1.CSIDriver{}, calls: listWatch(storage.CSIDrivers(), "")},
		{
			resource: "poddisruptionbudgets",
			example:  &policyv1.PodDisruptionBudget{},
			calls:    listWatch(policy.PodDisruptionBudgets(metav1.NamespaceAll), ""),
		},
	}
}

// unfinished selects the pods that hold something on a node or ask for it. To a
// watch with this selector a pod that finishes is deleted.
const unfinished = "status.phase!=" + string(corev1.PodSucceeded) + ",status.phase!=" + string(corev1.PodFailed)

// Unfinished selects the pods that a Watcher follows.
func Unfinished() fields.Selector { return fields.ParseSelectorOrDie(unfinished) }

// Run feeds the cluster until the context ends. When it returns, nothing that
// it started is left running. A Watcher can be run once.
func (w *Watcher) Run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	for _, f := range w.feeds {
		group.Go(func() { f.informer.RunWithContext(ctx) })
	}
	if w.optional != nil {
		group.Go(func() { w.optional.run(ctx) })
	}
	if w.asking != nil {
		group.Go(func() { w.asking(ctx) })
	}
	w.nameTheSlow(ctx)
}

// Synced reports whether the cluster has taken in the initial list of every resource.
// Optional ones count when the cluster has them and muster may read them. It
// stays true while the API server is away.
func (w *Watcher) Synced() bool { return len(w.outstanding()) == 0 }

// WaitForSync waits until Synced. The error, when the context ends before,
// names the resources that are outstanding.
func (w *Watcher) WaitForSync(ctx context.Context) error {
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) { return w.Synced(), nil })
	if err != nil {
		return fmt.Errorf("wait for the initial lists of %s: %w", strings.Join(w.outstanding(), ", "), err)
	}
	return nil
}

// outstanding names the resources that keep Synced from being true.
func (w *Watcher) outstanding() []string {
	var resources []string
	for _, f := range w.feeds {
		if !f.synced() {
			resources = append(resources, f.resource)
		}
	}
	if w.optional != nil {
		resources = append(resources, w.optional.outstanding()...)
	}
	return resources
}

func (w *Watcher) nameTheSlow(ctx context.Context) {
	ticker := time.NewTicker(slowSync)
	defer ticker.Stop()
	for !w.Synced() {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, resource := range w.outstanding() {
			w.log.Warn("still waiting for the initial list of a resource", slog.String("resource", resource))
		}
	}
}

// applied logs an event that the view did not take.
func (w *Watcher) applied(err error) {
	if err != nil {
		w.log.Error("cannot apply an event", slog.Any("err", err))
	}
}

// versions is a client of the first version of a resource that is served. Projects have made definitions of one name with
// different versions, so that a cluster may serve one or the other.
type versions struct {
	clients []resourceClient[*unstructured.UnstructuredList]
}

// List implements resourceClient.
func (v *versions) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return ofServed(v, func(client resourceClient[*unstructured.UnstructuredList]) (*unstructured.UnstructuredList, error) {
		return client.List(ctx, options)
	})
}

// Watch implements resourceClient.
func (v *versions) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return ofServed(v, func(client resourceClient[*unstructured.UnstructuredList]) (watch.Interface, error) {
		return client.Watch(ctx, options)
	})
}

// ofServed calls one version after the other until one is served.
func ofServed[T any](v *versions, call func(resourceClient[*unstructured.UnstructuredList]) (T, error)) (answer T, err error) {
	for _, client := range v.clients {
		if answer, err = call(client); !apierrors.IsNotFound(err) {
			break
		}
	}
	return answer, err
}

// PatchPod returns a request that patches a pod, of the core API's client. The metadata of the patch should name the UID: it
// is a precondition.
func PatchPod(core rest.Interface, how types.PatchType, pod *corev1.Pod, patch map[string]any) *rest.Request {
	body, _ := json.Marshal(patch) // of strings and types of the API, which always succeeds
	return core.Patch(how).Namespace(pod.Namespace).Resource("pods").Name(pod.Name).Param("fieldManager", FieldManager).Body(body)
}

// PatchPodStatus returns a request that patches the status of a pod. Annotations can be written with it, which takes no
// right to the rest of the pod.
func PatchPodStatus(core rest.Interface, how types.PatchType, pod *corev1.Pod, patch map[string]any) *rest.Request {
	return PatchPod(core, how, pod, patch).SubResource("status")
}
