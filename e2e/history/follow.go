package history

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Source is a kind of objects to follow from a version on.
type Source struct {
	Version string
	Watch   cache.WatchFuncWithContext
}

// Core returns the nodes and the pods of a cluster that has none yet.
func Core(ctx context.Context, client kubernetes.Interface) ([]Source, error) {
	nodes, pods := client.CoreV1().Nodes(), client.CoreV1().Pods(metav1.NamespaceAll)
	nodeList, err := nodes.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	podList, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	if len(nodeList.Items)+len(podList.Items) > 0 {
		return nil, fmt.Errorf("the cluster has %d nodes and %d pods already", len(nodeList.Items), len(podList.Items))
	}
	return []Source{{nodeList.ResourceVersion, nodes.Watch}, {podList.ResourceVersion, pods.Watch}}, nil
}

// Custom returns the objects of a resource that come from now on, and changes of existing ones.
func Custom(ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource) (Source, error) {
	objects := client.Resource(resource)
	list, err := objects.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return Source{}, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	return Source{list.GetResourceVersion(), func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
		return objects.Watch(ctx, o)
	}}, nil
}

// Follow calls observe with every event of the sources: events of one in their order, of different
// ones at the same time. It does so until the context ends, or fails by calling fail when an event
// may have been missed. stop ends it and returns when observe is no longer called.
func Follow(ctx context.Context, sources []Source, observe func(watch.Event), fail func(error)) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	for _, source := range sources {
		watcher, err := watchtools.NewRetryWatcherWithContext(ctx, source.Version, &cache.ListWatch{WatchFuncWithContext: source.Watch})
		if err != nil {
			cancel()
			watchers.Wait()
			return nil, fmt.Errorf("watch: %w", err)
		}
		watchers.Go(func() {
			for event := range watcher.ResultChan() {
				if event.Type == watch.Error {
					fail(fmt.Errorf("watch: %w", apierrors.FromObject(event.Object)))
					return
				}
				observe(event)
			}
		})
	}
	return func() { cancel(); watchers.Wait() }, nil
}
