package cluster

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// versions is a client of the first version of a resource that is served. Projects have made definitions of one name with
// different versions, so that a cluster may serve one or the other.
type versions struct {
	clients []resourceClient[*unstructured.UnstructuredList]
}

// List implements resourceClient.
func (v *versions) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return ofServed(v, func(client resourceClient[*unstructured.UnstructuredList]) (*unstructured.UnstructuredList, error) {
		return client.List(ctx, options)
	})
}

// Watch implements resourceClient.
func (v *versions) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return ofServed(v, func(client resourceClient[*unstructured.UnstructuredList]) (watch.Interface, error) {
		return client.Watch(ctx, options)
	})
}

// ofServed calls one version after the other until one is served.
func ofServed[T any](v *versions, call func(resourceClient[*unstructured.UnstructuredList]) (T, error)) (answer T, err error) {
	for _, client := range v.clients {
		if answer, err = call(client); !apierrors.IsNotFound(err) {
			break
		}
	}
	return answer, err
}
