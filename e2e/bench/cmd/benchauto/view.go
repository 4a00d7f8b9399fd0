package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// view holds the pods and nodes that watches show. Objects of it must not be changed.
type view struct {
	pods    listers.PodLister
	nodes   listers.NodeLister
	changed chan struct{} // of one element: a pod or a node changed
	stop    context.CancelFunc
}

// newView returns one that has seen the cluster. The caller must call stop.
func newView(ctx context.Context, client kubernetes.Interface) (*view, error) {
	ctx, cancel := context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(client, 0)
	v := &view{
		pods: factory.Core().V1().Pods().Lister(), nodes: factory.Core().V1().Nodes().Lister(), changed: make(chan struct{}, 1), stop: cancel,
	}
	ring := func(any) {
		select {
		case v.changed <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: ring, UpdateFunc: func(_, now any) { ring(now) }, DeleteFunc: ring}
	for _, informer := range []cache.SharedIndexInformer{factory.Core().V1().Pods().Informer(), factory.Core().V1().Nodes().Informer()} {
		if _, err := informer.AddEventHandler(handler); err != nil {
			cancel()
			return nil, fmt.Errorf("watch: %w", err)
		}
	}
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			cancel()
			return nil, fmt.Errorf("the watch of %s has not begun", kind)
		}
	}
	return v, nil
}

// taken are the pods that are on nodes, or wait for one.
func (v *view) taken() (pods []*corev1.Pod) {
	all, _ := v.pods.List(labels.Everything()) // a cache does not fail
	for _, pod := range all {
		if isTaken(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (v *view) allNodes() []*corev1.Node {
	nodes, _ := v.nodes.List(labels.Everything()) // a cache does not fail
	return nodes
}

// settle waits until there are pods, and all are ready.
func (v *view) settle(ctx context.Context) error {
	last := errors.New("nothing was looked at")
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(context.Context) (bool, error) {
		pods := v.taken()
		last = nil
		if len(pods) == 0 {
			last = errors.New("there are no pods")
		}
		for _, pod := range pods {
			if !isReady(pod) {
				last = fmt.Errorf("%s is not ready", pod.Name)
			}
		}
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until all pods are ready: %w: %w", err, last)
	}
	return nil
}
