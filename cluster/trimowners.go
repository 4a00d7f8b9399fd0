package cluster

import (
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// trimToSelector reduces the kinds that are read for the pods that they select, and for how many of
// those they replace.
func trimToSelector(object any) {
	switch o := object.(type) {
	case *corev1.Service:
		o.ObjectMeta = identity(&o.ObjectMeta)
		o.Spec = corev1.ServiceSpec{Selector: o.Spec.Selector}
		o.Status = corev1.ServiceStatus{}
	case *corev1.ReplicationController:
		o.ObjectMeta = mortal(&o.ObjectMeta)
		o.Spec = corev1.ReplicationControllerSpec{Selector: o.Spec.Selector, Replicas: o.Spec.Replicas}
		o.Status = corev1.ReplicationControllerStatus{}
	case *appsv1.ReplicaSet:
		o.ObjectMeta = mortal(&o.ObjectMeta)
		o.Spec = appsv1.ReplicaSetSpec{Selector: o.Spec.Selector, Replicas: o.Spec.Replicas}
		o.Status = appsv1.ReplicaSetStatus{}
	case *appsv1.StatefulSet:
		o.ObjectMeta = owned(&o.ObjectMeta)
		o.Spec = appsv1.StatefulSetSpec{Selector: o.Spec.Selector, Replicas: o.Spec.Replicas}
		o.Status = appsv1.StatefulSetStatus{}
	case *batchv1.Job:
		annotations := trimJobAnnotations(o)
		succeeded := o.Status.Succeeded
		_, says := annotations[v1alpha1.AnnotationGangScope]
		if indexed := o.Spec.CompletionMode != nil && *o.Spec.CompletionMode == batchv1.IndexedCompletion; !says && !indexed {
			succeeded = 0 // of a queue of work, it would be another Job after each pod
		}
		o.ObjectMeta = owned(&o.ObjectMeta)
		o.Annotations = annotations
		o.Spec = batchv1.JobSpec{
			Parallelism: o.Spec.Parallelism, Completions: o.Spec.Completions, CompletionMode: o.Spec.CompletionMode,
			Suspend: o.Spec.Suspend, BackoffLimit: o.Spec.BackoffLimit,
			BackoffLimitPerIndex: o.Spec.BackoffLimitPerIndex, PodFailurePolicy: o.Spec.PodFailurePolicy,
		}
		o.Status = batchv1.JobStatus{Failed: o.Status.Failed, Succeeded: succeeded}
	}
}

// mostOfAnnotation is how much of an annotation of a Job is kept, in bytes: no name or key is as long.
const mostOfAnnotation = 400

// trimJobAnnotations returns what a Job says of gangs, nil for nothing: which pods start together, and what KAI reads of it about the
// network. All start together where they are to be near each other, as there and in Kueue, though it says nothing else.
func trimJobAnnotations(job *batchv1.Job) (kept map[string]string) {
	kept = map[string]string{}
	for _, name := range []string{
		v1alpha1.AnnotationGangScope, v1alpha1.AnnotationKAITopology, v1alpha1.AnnotationKAIRequiredTopology,
		v1alpha1.AnnotationKAIPreferredTopology,
	} {
		if value, says := job.Annotations[name]; says {
			kept[name] = value[:min(len(value), mostOfAnnotation)]
		}
	}
	_, says := kept[v1alpha1.AnnotationGangScope]
	if !says && (v1alpha1.AsksForTopology(kept) || v1alpha1.AsksForTopology(job.Spec.Template.Annotations)) {
		kept[v1alpha1.AnnotationGangScope] = v1alpha1.ScopeAll
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}
