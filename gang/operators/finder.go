package operators

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/metadata"

	"muster.dev/muster/cluster"
)

// Finder returns a function that asks an API server for objects of these kinds. It lists the one of a name, as muster may list
// them in any case, and reads no more than its metadata.
func (s *Set) Finder(client metadata.Interface) cluster.FindOwner {
	versions := map[schema.GroupKind][]schema.GroupVersionResource{
		Job:         {batchv1.SchemeGroupVersion.WithResource("jobs")},
		StatefulSet: {appsv1.SchemeGroupVersion.WithResource("statefulsets")},
		Pod:         {corev1.SchemeGroupVersion.WithResource("pods")},
	}
	for _, resource := range s.Resources() {
		of := []schema.GroupVersionResource{resource.GroupVersionResource}
		for _, older := range resource.Older {
			of = append(of, resource.GroupResource().WithVersion(older))
		}
		versions[resource.GroupKind()] = of
	}
	return func(ctx context.Context, kind schema.GroupKind, name types.NamespacedName) (types.UID, error) {
		if len(validation.IsDNS1123Subdomain(name.Name)) > 0 {
			return "", nil // nothing is called so, and it may be of any length
		}
		selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name.Name)
		if kind == Pod {
			selector = fields.AndSelectors(selector, cluster.Unfinished()) // no watch shows another one
		}
		var list *metav1.PartialObjectMetadataList
		var err error
		for _, version := range versions[kind] {
			list, err = client.Resource(version).Namespace(name.Namespace).List(ctx, metav1.ListOptions{FieldSelector: selector.String(), Limit: 1})
			if !apierrors.IsNotFound(err) {
				break
			}
		}
		if err != nil || list == nil || len(list.Items) == 0 {
			return "", err
		}
		return list.Items[0].UID, nil
	}
}
