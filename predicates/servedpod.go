package predicates

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// servedPod has the fields by which services know a pod.
type servedPod struct {
	namespace string
	labels    labels.Set
}

// services returns the selectors of the services that the pod belongs to.
func (p servedPod) services(objects *cluster.Objects) []labels.ValidatedSetSelector {
	var selectors []labels.ValidatedSetSelector
	for name, service := range objects.Services.All() {
		if name.Namespace == p.namespace && p.servedBy(service) {
			selectors = append(selectors, service.Spec.Selector)
		}
	}
	return selectors
}

// servedBy reports whether the pod belongs to a service of its namespace, which may be nil. A
// service without a selector has no pods that are known here.
func (p servedPod) servedBy(service *corev1.Service) bool {
	return service != nil && service.Spec.Selector != nil && labels.ValidatedSetSelector(service.Spec.Selector).Matches(p.labels)
}

// otherServices reports whether the selectors are other ones since a service changed; see
// [Selective].
func (p servedPod) otherServices(service types.NamespacedName, before, after *cluster.Objects) bool {
	if service.Namespace != p.namespace {
		return false
	}
	was, _ := before.Services.Get(service)
	is, _ := after.Services.Get(service)
	served, serves := p.servedBy(was), p.servedBy(is)
	return served != serves || served && !maps.Equal(was.Spec.Selector, is.Spec.Selector)
}
