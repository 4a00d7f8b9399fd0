package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	configv1 "k8s.io/kube-scheduler/config/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	inTree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
	"k8s.io/utils/ptr"
)

// kubeScheduler is the in-tree side: the real framework with the real plugins. Its informers never start; a scenario is
// all that it knows.
type kubeScheduler struct {
	registry frameworkruntime.Registry
	client   kubernetes.Interface
	options  []frameworkruntime.Option
}

func newKubeScheduler() (*kubeScheduler, error) {
	metrics.Register()
	client, err := kubernetes.NewForConfig(&rest.Config{})
	if err != nil {
		return nil, fmt.Errorf("client that is never used: %w", err)
	}
	return &kubeScheduler{
		registry: inTree.NewInTreeRegistry(),
		client:   client,
		options: []frameworkruntime.Option{
			frameworkruntime.WithClientSet(client),
			frameworkruntime.WithParallelism(1),
		},
	}, nil
}

// inTreeView is a scenario as kube-scheduler sees it.
type inTreeView struct {
	*kubeScheduler
	factory informers.SharedInformerFactory
	options []frameworkruntime.Option
	nodes   []fwk.NodeInfo // in the scenario's order
	pending []*corev1.Pod
}

func (k *kubeScheduler) look(s *Scenario) (*inTreeView, error) {
	var pods []*corev1.Pod
	for _, pod := range s.Placed {
		// Finished pods never reach its cache: its informer leaves them out.
		if pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed {
			pods = append(pods, pod)
		}
	}
	snapshot := cache.NewSnapshot(pods, s.Nodes)
	factory, objects := informers.NewSharedInformerFactory(k.client, 0), s.Objects.tainted()
	if err := objects.fill(factory); err != nil {
		return nil, err
	}
	devices, err := objects.devices(factory)
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	view := &inTreeView{kubeScheduler: k, factory: factory, pending: s.Pending}
	view.options = append(slices.Concat(k.options, withSnapshot(snapshot)),
		frameworkruntime.WithSharedDRAManager(devices),
		frameworkruntime.WithPodNominator(nominator(s.Nominated)),
		frameworkruntime.WithSharedCSIManager(nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
	)
	for _, node := range s.Nodes {
		info, err := snapshot.Get(node.Name)
		if err != nil {
			return nil, err
		}
		view.nodes = append(view.nodes, info)
	}
	return view, nil
}

func (v *inTreeView) answer(ctx context.Context, profile Profile) (answers, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends what a framework starts
	filters, err := v.framework(ctx, profile, profile.filterSet())
	if err != nil {
		return nil, err
	}
	scores, err := v.framework(ctx, profile, profile.scoreSet())
	if err != nil {
		return nil, err
	}
	all := make(answers, len(v.pending))
	for i, pod := range v.pending {
		all[i] = make([]Answer, len(v.nodes))
		v.filter(ctx, filters, profile, pod, all[i])
		v.score(ctx, scores, pod, all[i])
	}
	return all, nil
}

// filter does what the scheduler does to find the nodes that fit.
func (v *inTreeView) filter(ctx context.Context, f framework.Framework, profile Profile, pod *corev1.Pod, to []Answer) {
	state := framework.NewCycleState()
	result, status, _ := f.RunPreFilterPlugins(ctx, state, pod)
	skipped := len(profile.Filter) > 0 && state.GetSkipFilterPlugins().HasAll(profile.Filter...)
	for i, node := range v.nodes {
		switch {
		case !status.IsSuccess():
			// Of several plugins muster may name one that comes before and is against the node.
			to[i] = Answer{Code: status.Code(), AnyRejection: status.IsError() || len(profile.Filter) > 1}
		case !result.AllNodes() && !result.NodeNames.Has(node.Node().Name):
			to[i].Code = fwk.UnschedulableAndUnresolvable
		default:
			to[i].Skipped = skipped
			if verdict := f.RunFilterPlugins(ctx, state, pod, node); !verdict.IsSuccess() {
				to[i] = Answer{
					Code: verdict.Code(), Reasons: verdict.Reasons(),
					AnyRejection: verdict.IsError() || verdict.Plugin() == names.DynamicResources, // it says where the allocator gave up
					AllReasons:   verdict.Plugin() == names.NodeResourcesFit,
				}
			}
		}
	}
}

// score does what the scheduler does to compare the nodes that fit.
func (v *inTreeView) score(ctx context.Context, f framework.Framework, pod *corev1.Pod, to []Answer) {
	var fitting []fwk.NodeInfo
	var answers []*Answer
	for i, node := range v.nodes {
		if to[i].Code == fwk.Success {
			fitting, answers = append(fitting, node), append(answers, &to[i])
		}
	}
	state := framework.NewCycleState()
	var scores []fwk.NodePluginScores
	status := f.RunPreScorePlugins(ctx, state, pod, fitting)
	if status.IsSuccess() {
		scores, status = f.RunScorePlugins(ctx, state, pod, fitting)
	}
	for i, answer := range answers {
		if answer.Unscored = !status.IsSuccess(); !answer.Unscored {
			answer.Score = scores[i].TotalScore
		}
	}
}

// compare rates some of the nodes for the only pending pod as the scheduler does when no others fit.
func (v *inTreeView) compare(ctx context.Context, profile Profile, nodes []int) (map[int]int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scores, err := v.framework(ctx, profile, profile.scoreSet())
	if err != nil {
		return nil, err
	}
	answers := make([]Answer, len(v.nodes))
	for i := range answers {
		answers[i].Code = fwk.Unschedulable
	}
	for _, node := range nodes {
		answers[node].Code = fwk.Success
	}
	v.score(ctx, scores, v.pending[0], answers)
	rated := map[int]int64{}
	for _, node := range nodes {
		rated[node] = answers[node].Score
	}
	return rated, nil
}

// framework builds kube-scheduler's framework with a set of plugins, each at all the extension points that it has.
func (v *inTreeView) framework(ctx context.Context, profile Profile, set []config.Plugin) (framework.Framework, error) {
	inTreeProfile := config.KubeSchedulerProfile{
		SchedulerName: corev1.DefaultSchedulerName,
		Plugins: &config.Plugins{MultiPoint: config.PluginSet{
			Enabled: append(set, config.Plugin{Name: names.PrioritySort}, config.Plugin{Name: names.DefaultBinder}),
		}},
	}
	for _, plugin := range set {
		args, err := decodeArgs(plugin.Name, profile.Args[plugin.Name])
		if err != nil {
			return nil, err
		}
		if args != nil {
			inTreeProfile.PluginConfig = append(inTreeProfile.PluginConfig, config.PluginConfig{Name: plugin.Name, Args: args})
		}
	}
	options := append(slices.Clip(v.options), frameworkruntime.WithInformerFactory(withOwnPods(v.factory, v.client)))
	f, err := frameworkruntime.NewFramework(ctx, v.registry, &inTreeProfile, options...)
	if err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	return f, nil
}

func (p Profile) filterSet() []config.Plugin {
	var set []config.Plugin
	for _, name := range p.Filter {
		set = append(set, config.Plugin{Name: name})
	}
	return set
}

func (p Profile) scoreSet() []config.Plugin {
	var set []config.Plugin
	for _, score := range p.Score {
		set = append(set, config.Plugin{Name: score.Name, Weight: score.Weight})
	}
	return set
}

// decodeArgs decodes and defaults arguments as kube-scheduler does with those in its configuration file. They are nil
// for a plugin that takes none.
func decodeArgs(name string, args map[string]any) (runtime.Object, error) {
	document := map[string]any{"apiVersion": configv1.SchemeGroupVersion.String(), "kind": name + "Args"}
	maps.Copy(document, args)
	data, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("args of %s: %w", name, err)
	}
	object, err := runtime.Decode(scheme.Codecs.UniversalDecoder(), data)
	switch {
	case runtime.IsNotRegisteredError(err) && args == nil:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("args of %s: %w", name, err)
	}
	return object, nil
}

// ownPods is a factory with an informer of pods of its own: DynamicResources adds an index to it, which can be done
// once, and a scenario is asked about by several frameworks.
type ownPods struct {
	informers.SharedInformerFactory
	pods podInformer
}

func withOwnPods(factory informers.SharedInformerFactory, client kubernetes.Interface) informers.SharedInformerFactory {
	return ownPods{factory, informers.NewSharedInformerFactory(client, 0).Core().V1().Pods()}
}

// Core implements informers.SharedInformerFactory.
func (f ownPods) Core() core.Interface { return ownPodsCore{f.SharedInformerFactory.Core(), f.pods} }

type ownPodsCore struct {
	core.Interface
	pods podInformer
}

// V1 implements core.Interface.
func (c ownPodsCore) V1() corev1informers.Interface { return ownPodsV1{c.Interface.V1(), c.pods} }

type ownPodsV1 struct {
	corev1informers.Interface
	pods podInformer
}

// Pods implements corev1informers.Interface.
func (v ownPodsV1) Pods() podInformer { return v.pods }

// claimsOnce is an informer that tells of some claims, and of nothing else.
type claimsOnce struct {
	claims []*resourcev1.ResourceClaim
	to     toolscache.ResourceEventHandler
}

// AddEventHandler implements assumecache.Informer.
func (c *claimsOnce) AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	c.to = handler
	return nil, nil
}

func (c *claimsOnce) tell() {
	for _, claim := range c.claims {
		c.to.OnAdd(claim, true)
	}
}

// tainted are the objects with ResourceSlices as the tracker of kube-scheduler makes them of DeviceTaintRules. It works
// by itself, some time after each event, so it is spared; a test of package cluster holds muster against it.
func (o *Objects) tainted() *Objects {
	tainted := *o
	tainted.ResourceSlices = nil
	for _, slice := range o.ResourceSlices {
		slice = slice.DeepCopy()
		for i := range slice.Spec.Devices {
			device := &slice.Spec.Devices[i]
			for _, rule := range o.DeviceTaintRules {
				by := rule.Spec.DeviceSelector
				if by != nil && ptr.Deref(by.Driver, slice.Spec.Driver) == slice.Spec.Driver &&
					ptr.Deref(by.Pool, slice.Spec.Pool.Name) == slice.Spec.Pool.Name && ptr.Deref(by.Device, device.Name) == device.Name {
					device.Taints = append(device.Taints, rule.Spec.Taint)
				}
			}
		}
		tainted.ResourceSlices = append(tainted.ResourceSlices, slice)
	}
	return &tainted
}

// devices returns the knowledge of kube-scheduler's plugins about devices: the objects of a scenario.
func (o *Objects) devices(factory informers.SharedInformerFactory) (fwk.SharedDRAManager, error) {
	ctx := context.Background() // nothing is started with it
	claims := &claimsOnce{claims: o.ResourceClaims}
	known := assumecache.NewAssumeCache(klog.FromContext(ctx), claims, "ResourceClaim", "", nil)
	slices, err := tracker.StartTracker(ctx, tracker.Options{SliceInformer: factory.Resource().V1().ResourceSlices()})
	if err != nil {
		return nil, err
	}
	manager := dynamicresources.NewDRAManager(ctx, known, slices, factory)
	claims.tell()
	if resolver, follows := manager.DeviceClassResolver().(toolscache.ResourceEventHandler); follows {
		for _, class := range o.DeviceClasses {
			resolver.OnAdd(class, true)
		}
	}
	return manager, nil
}
