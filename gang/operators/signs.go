package operators

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Signs are the ways in which a pod shows by itself, as soon as it is created, that it may belong to others of its controller.
// Nobody has checked them: a pod that has one may turn out to be single.
type Signs struct {
	// Owners are kinds of its controller.
	Owners []schema.GroupKind
	// Labels and Annotations are on the pod, and not empty.
	Labels, Annotations []string
}

// Signs returns the signs of the kinds that are switched on. Jobs and StatefulSets are none, as most are of no gang: below the
// owner of one, pods have a label.
func (s *Set) Signs() (signs Signs) {
	for _, kind := range s.on {
		for _, owner := range kind.Owners {
			if !owner.Core {
				signs.Owners = append(signs.Owners, owner.GroupKind())
			}
		}
		if kind.Label != "" {
			signs.Labels = append(signs.Labels, kind.Label)
		}
		signs.Labels = append(signs.Labels, kind.Marks.Labels...)
		signs.Annotations = append(signs.Annotations, kind.Marks.Annotations...)
	}
	return signs
}

// On reports whether a pod has any of the signs.
func (s *Signs) On(pod *corev1.Pod) bool {
	has := func(values map[string]string) func(string) bool {
		return func(key string) bool { return values[key] != "" }
	}
	return slices.ContainsFunc(s.Labels, has(pod.Labels)) || slices.ContainsFunc(s.Annotations, has(pod.Annotations)) ||
		slices.ContainsFunc(pod.OwnerReferences, s.Owns)
}

// Owns reports whether a reference is to a controller that is a sign.
func (s *Signs) Owns(ref metav1.OwnerReference) bool {
	group, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && ref.Controller != nil && *ref.Controller && slices.Contains(s.Owners, group.WithKind(ref.Kind).GroupKind())
}
