package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// inTree is kube-scheduler's framework on the snapshot of a cluster that stands still.
type inTree struct {
	framework framework.Framework
	nodes     []fwk.NodeInfo // in the input's order
}

// newInTree builds a framework with the filter plugins of those names and default
// arguments. What it starts ends with the context. Its informers never start: there is
// nothing but nodes and pods.
func newInTree(ctx context.Context, in *input, filters []string) (*inTree, error) {
	metrics.Register()
	defaults, err := latest.Default()
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler's defaults: %w", err)
	}
	profile := defaults.Profiles[0]
	enabled := []config.Plugin{{Name: names.PrioritySort}, {Name: names.DefaultBinder}}
	for _, name := range filters {
		enabled = append(enabled, config.Plugin{Name: name})
	}
	profile.Plugins = &config.Plugins{MultiPoint: config.PluginSet{Enabled: enabled}}

	client, err := kubernetes.NewForConfig(&rest.Config{})
	if err != nil {
		return nil, fmt.Errorf("client that is never used: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	claims := assumecache.NewAssumeCache(klog.FromContext(ctx), factory.Resource().V1().ResourceClaims().Informer(), "ResourceClaim", "", nil)
	snapshot := cache.NewSnapshot(in.placed, in.nodes)
	t := &inTree{}
	t.framework, err = frameworkruntime.NewFramework(ctx, plugins.NewInTreeRegistry(), &profile,
		frameworkruntime.WithClientSet(client),
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithSharedDRAManager(dynamicresources.NewDRAManager(ctx, claims, nil, factory)),
		frameworkruntime.WithSnapshotSharedLister(snapshot),
		frameworkruntime.WithParallelism(1),
	)
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler's framework: %w", err)
	}
	for _, node := range in.nodes {
		info, err := snapshot.Get(node.Name)
		if err != nil {
			return nil, fmt.Errorf("kube-scheduler's snapshot: %w", err)
		}
		t.nodes = append(t.nodes, info)
	}
	return t, nil
}

// judge sets fits to whether the pod fits each node.
func (t *inTree) judge(ctx context.Context, pod *corev1.Pod, fits []bool) error {
	state := framework.NewCycleState()
	result, status, _ := t.framework.RunPreFilterPlugins(ctx, state, pod)
	if !status.IsSuccess() {
		return fmt.Errorf("kube-scheduler's PreFilter: %w", status.AsError())
	}
	if !result.AllNodes() {
		return fmt.Errorf("kube-scheduler's PreFilter leaves %d nodes: that is no full evaluation", len(result.NodeNames))
	}
	for i, node := range t.nodes {
		fits[i] = t.framework.RunFilterPlugins(ctx, state, pod, node).IsSuccess()
	}
	return nil
}
