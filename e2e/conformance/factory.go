package conformance

import (
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/core"
	corev1informers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
)

// ownPods is a factory with an informer of pods of its own: DynamicResources adds an index to it, which can be done once,
// and a scenario is asked about by several frameworks.
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
