package lab

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"muster.dev/muster/e2e/workload"
)

// Create creates objects as they are, in the workloads' namespace if they name none.
func (l *Lab) Create(objects ...runtime.Object) {
	l.Helper()
	for _, object := range objects {
		l.Must(l.Try(object))
	}
}

// Try is Create for one that the API server may refuse.
func (l *Lab) Try(object runtime.Object) error {
	u, is := object.(*unstructured.Unstructured)
	if !is {
		kinds, _, err := scheme.Scheme.ObjectKinds(object)
		if err != nil {
			return err
		}
		u = &unstructured.Unstructured{}
		if u.Object, err = runtime.DefaultUnstructuredConverter.ToUnstructured(object); err != nil {
			return err
		}
		u.SetGroupVersionKind(kinds[0])
	}
	served, err := l.plane.resourceOf(u.GroupVersionKind())
	if err != nil {
		return err
	}
	namespace := ""
	if served.Namespaced {
		namespace = cmp.Or(u.GetNamespace(), workload.Namespace)
	}
	resource := l.Dynamic.Resource(u.GroupVersionKind().GroupVersion().WithResource(served.Name))
	if _, err := resource.Namespace(namespace).Create(l.Context(), u, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create %s %s: %w", u.GetKind(), u.GetName(), err)
	}
	return nil
}

// Define has the API server know a custom resource of namespaces. Nothing of its objects is checked.
func (l *Lab) Define(resource schema.GroupVersionResource, kind string) {
	l.Helper()
	l.Create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": resource.GroupResource().String(), "annotations": map[string]any{
			"api-approved.kubernetes.io": "unapproved, for a test",
		}},
		"spec": map[string]any{
			"group": resource.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": kind, "plural": resource.Resource},
			"versions": []any{map[string]any{
				"name": resource.Version, "served": true, "storage": true, "schema": map[string]any{
					"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
				},
			}},
		},
	}})
}

// resourceOf is the resource of a kind, as the API server serves it.
func (p *plane) resourceOf(kind schema.GroupVersionKind) (metav1.APIResource, error) {
	if known, is := p.served.Load(kind); is {
		return known.(metav1.APIResource), nil
	}
	list, err := p.client.Discovery().ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return metav1.APIResource{}, fmt.Errorf("ask for the resource of %s: %w", kind, err)
	}
	for _, resource := range list.APIResources {
		if resource.Kind == kind.Kind && !strings.Contains(resource.Name, "/") {
			p.served.Store(kind, resource)
			return resource, nil
		}
	}
	return metav1.APIResource{}, fmt.Errorf("the API server does not serve %s", kind)
}

// Pod reads a pod of the workloads' namespace, which must be there.
func (l *Lab) Pod(name string) *corev1.Pod {
	l.Helper()
	pod, err := l.Client.CoreV1().Pods(workload.Namespace).Get(l.Context(), name, metav1.GetOptions{})
	l.Must(err)
	return pod
}

// Pods reads the pods of the workloads' namespace by name, without the pods of barriers.
func (l *Lab) Pods() map[string]*corev1.Pod {
	l.Helper()
	list, err := l.Client.CoreV1().Pods(workload.Namespace).List(l.Context(), metav1.ListOptions{})
	l.Must(err)
	pods := make(map[string]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		if !IsBarrier(&list.Items[i]) {
			pods[list.Items[i].Name] = &list.Items[i]
		}
	}
	return pods
}

// RemovePod deletes a pod at once, as a kubelet would when its grace period is over.
func (l *Lab) RemovePod(name string) {
	l.Helper()
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	l.Must(l.Client.CoreV1().Pods(workload.Namespace).Delete(l.Context(), name, now))
}
