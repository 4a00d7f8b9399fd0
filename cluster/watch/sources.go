package watch

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/cluster"
)

// source is a resource to feed from, and what to do with its objects.
type source struct {
	resource string         // its name, as in "pods"
	example  runtime.Object // of the type of its objects
	client   any            // whose resource it is
	calls    *cache.ListWatch
	// optional says that a cluster may lack the resource, or deny it.
	optional bool
	// builtIn says that it is optional and nothing defines it: a cluster that lacks it is no trouble.
	builtIn bool
	// catchUp says that [Watcher.CatchUp] waits for its objects.
	catchUp     bool
	trim        cache.TransformFunc // Trim when nil
	watched     func(error)         // told of trouble with the calls, and of its end; may be nil
	set, remove func(apiObject)
}

// sources returns what a Watcher follows in any cluster.
func sources(o Options) []source {
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
		{
			resource: "pods", example: &corev1.Pod{}, catchUp: true,
			calls: listWatch(core.Pods(metav1.NamespaceAll), cluster.Unfinished().String()),
		},
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

// resourceClient is the part of a client for one resource that a feed needs.
type resourceClient[L runtime.Object] interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (apiwatch.Interface, error)
}

// listWatch lists and watches the objects that a field selector selects.
func listWatch[L runtime.Object](client resourceClient[L], selector string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
			options.FieldSelector = selector
			return client.Watch(ctx, options)
		},
	}
}
