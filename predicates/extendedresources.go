package predicates

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"muster.dev/muster/api/quantity"
	"muster.dev/muster/cluster"
)

// deviceClassOf returns the name of the class of devices that stand for an extended resource: by its implicit name, or the
// youngest one that names the resource (k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache).
func deviceClassOf(resource corev1.ResourceName, objects *cluster.Objects) (class string, backed bool) {
	if objects.DeviceClasses.Len() == 0 || !strings.Contains(string(resource), "/") {
		return "", false
	}
	if name, implicit := strings.CutPrefix(string(resource), resourcev1.ResourceDeviceClassPrefix); implicit {
		_, there := objects.DeviceClasses.Get(name)
		return name, there
	}
	var best *resourcev1.DeviceClass
	for _, class := range objects.DeviceClasses.All() {
		if ptr.Deref(class.Spec.ExtendedResourceName, "") == string(resource) && (best == nil || isPreferred(class, best)) {
			best = class
		}
	}
	if best == nil {
		return "", false
	}
	return best.Name, true
}

// isExtended reports whether a resource is of a domain that is not Kubernetes' own (IsExtendedResourceName in
// pkg/apis/core/v1/helper), or the implicit one of a class of devices.
func isExtended(resource corev1.ResourceName) bool {
	return strings.HasPrefix(string(resource), resourcev1.ResourceDeviceClassPrefix) || strings.Contains(string(resource), "/") &&
		!strings.Contains(string(resource), corev1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(string(resource), corev1.DefaultResourceRequestsPrefix)
}

// isPreferred says which of two classes for one resource counts.
func isPreferred(class, to *resourcev1.DeviceClass) bool {
	return cmp.Or(to.CreationTimestamp.Compare(class.CreationTimestamp.Time), cmp.Compare(class.Name, to.Name)) < 0
}

// extendedClasses returns the classes of devices that stand for extended resources of a pod, by resource; nil for none.
func extendedClasses(pod *cluster.Pod, objects *cluster.Objects) map[corev1.ResourceName]string {
	var classes map[corev1.ResourceName]string
	for i := range pod.Requests.Scalars {
		resource := pod.Requests.Scalars[i].Name.Value()
		if class, backed := deviceClassOf(resource, objects); backed {
			if classes == nil {
				classes = map[corev1.ResourceName]string{}
			}
			classes[resource] = class
		}
	}
	return classes
}

// extendedClaim returns the claim that kube-scheduler makes for extended resources of a pod, by the classes of their
// devices. Containers that run together have devices of their own, and init containers use the devices of later
// containers (createRequestsAndMappings in
// pkg/scheduler/framework/plugins/dynamicresources/extendeddynamicresources.go).
func extendedClaim(pod *cluster.Pod, classes map[corev1.ResourceName]string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name + "-extended-resources", UID: pod.UID + types.UID("/extended-resources"),
	}}
	for _, resource := range slices.Sorted(maps.Keys(classes)) {
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, extendedRequests(pod.Pod, resource, classes[resource])...)
	}
	slices.SortFunc(claim.Spec.Devices.Requests, func(a, b resourcev1.DeviceRequest) int { return cmp.Compare(a.Name, b.Name) })
	return claim
}

func extendedRequests(pod *corev1.Pod, resource corev1.ResourceName, class string) (requests []resourcev1.DeviceRequest) {
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	var later int64 // how many devices the containers have that go on, from the one at hand
	var most int64  // how many more an init container needs that ends
	mostOf := 0
	for i := len(containers) - 1; i >= 0; i-- {
		container := &containers[i]
		asked := container.Resources.Requests[resource]
		count, whole := asked.AsInt64()
		if !whole || count == 0 {
			continue
		}
		ends := i < len(pod.Spec.InitContainers) && ptr.Deref(container.RestartPolicy, "") != corev1.ContainerRestartPolicyAlways
		if ends {
			if more := count - later; more > 0 && more >= most {
				most, mostOf = more, i
			}
			continue
		}
		later = quantity.Sum(later, count)
		requests = append(requests, extendedRequest(container, i, resource, class, count))
	}
	if most > 0 {
		requests = append(requests, extendedRequest(&containers[mostOf], mostOf, resource, class, most))
	}
	return requests
}

// extendedRequest returns the request for devices that stands for an extended resource of a container. It has the name that
// kube-scheduler gives it, as devices are allocated in the order of the names.
func extendedRequest(
	container *corev1.Container, at int, resource corev1.ResourceName, class string, count int64,
) resourcev1.DeviceRequest {
	place := slices.Index(slices.Sorted(maps.Keys(container.Resources.Requests)), resource)
	return resourcev1.DeviceRequest{
		Name: fmt.Sprintf("container-%d-request-%d", at, place),
		Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: class, AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: count,
		},
	}
}
