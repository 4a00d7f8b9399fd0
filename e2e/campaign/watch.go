package campaign

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// follow calls observe with every event of nodes and pods, of which there must be none
// yet: those of nodes in their order, and those of pods in theirs. It does so until the
// context ends, or fails by calling fail when an event may have been missed. stop ends it
// and returns when observe is no longer called.
func follow(ctx context.Context, client kubernetes.Interface, observe func(watch.Event), fail func(error)) (stop func(), err error) {
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
	ctx, cancel := context.WithCancel(ctx)
	var watchers sync.WaitGroup
	for _, kind := range []struct {
		version string
		watch   cache.WatchFuncWithContext
	}{{nodeList.ResourceVersion, nodes.Watch}, {podList.ResourceVersion, pods.Watch}} {
		watcher, err := watchtools.NewRetryWatcherWithContext(ctx, kind.version, &cache.ListWatch{WatchFuncWithContext: kind.watch})
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
