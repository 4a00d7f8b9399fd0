// Package schedulerlease tells which process of kube-scheduler leads, by the Lease of its replicas.
package schedulerlease

import (
	"context"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// term is one period of a process as the leader. The Lease has another one after each change of its holder, and when
// the same holder takes it again.
type term struct {
	holder      string
	transitions int32
	acquired    int64 // in microseconds, of the holder's clock: it is only compared with itself
}

func termOf(lease *coordinationv1.Lease) term {
	var t term
	if lease.Spec.HolderIdentity != nil {
		t.holder = *lease.Spec.HolderIdentity
	}
	if lease.Spec.LeaseTransitions != nil {
		t.transitions = *lease.Spec.LeaseTransitions
	}
	if lease.Spec.AcquireTime != nil {
		t.acquired = lease.Spec.AcquireTime.UnixMicro()
	}
	return t
}

// Follow calls changed when the holder of a Lease (namespace/name) becomes another one, until the context ends. The
// first one that it sees is no change. Without the right to read the Lease, or without one, nothing is called.
func Follow(ctx context.Context, client kubernetes.Interface, lease string, changed func()) {
	var last term
	watch(ctx, client, lease, func() {}, func(now term) {
		if now.holder == "" || now == last {
			return // nobody leads, or the same one still
		}
		if last != (term{}) {
			changed()
		}
		last = now
	})
}

// FollowOn calls leads, until the context ends, with whether a kube-scheduler of a host has a Lease (namespace/name),
// whenever the Lease changes, and seen once it is known whether there is one: without the right to watch it, never.
// kube-scheduler's identity begins with the name of its host (cmd/kube-scheduler/app).
func FollowOn(ctx context.Context, client kubernetes.Interface, lease, host string, leads func(bool), seen func()) {
	watch(ctx, client, lease, seen, func(now term) { leads(strings.HasPrefix(now.holder, host+"_")) })
}

// watch tells what a Lease says, in one goroutine, until the context ends. It calls seen once it has told what there is.
func watch(ctx context.Context, client kubernetes.Interface, lease string, seen func(), tell func(term)) {
	namespace, name, _ := strings.Cut(lease, "/")
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}))
	see := func(object any) {
		if lease, is := object.(*coordinationv1.Lease); is && lease.Name == name {
			tell(termOf(lease))
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, object any) { see(object) }}
	registered, err := factory.Coordination().V1().Leases().Informer().AddEventHandler(handler)
	if err != nil {
		return // it has been stopped
	}
	factory.StartWithContext(ctx)
	if cache.WaitForCacheSync(ctx.Done(), registered.HasSynced) {
		seen()
	}
	<-ctx.Done()
	factory.Shutdown()
}
