package status

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Finished counts the pods of groups that have succeeded or failed, which the view of
// the cluster leaves out. It follows their metadata, by label: a cluster without groups has
// none. Its methods are safe for concurrent use.
type Finished struct {
	informers map[ending]cache.SharedIndexInformer
}

// ending is what one informer follows.
type ending struct {
	label string
	phase corev1.PodPhase
}

// byGroup is the index of pods by namespace and name of their group.
const byGroup = "group"

// NewFinished returns a Finished that knows nothing until it is run. Of each change it
// tells the label of a group and its name; changed must return at once.
func NewFinished(client metadata.Interface, changed func(label string, group types.NamespacedName)) (*Finished, error) {
	f := &Finished{informers: map[ending]cache.SharedIndexInformer{}}
	for _, label := range v1alpha1.GroupLabels() {
		for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
			informer := metadatainformer.NewFilteredMetadataInformer(client, corev1.SchemeGroupVersion.WithResource("pods"), metav1.NamespaceAll, 0,
				cache.Indexers{byGroup: func(pod any) ([]string, error) {
					if group, ok := groupOf(pod, label); ok {
						return []string{group.String()}, nil
					}
					return nil, nil
				}},
				func(options *metav1.ListOptions) {
					options.LabelSelector = label
					options.FieldSelector = fields.OneTermEqualSelector("status.phase", string(phase)).String()
				}).Informer()
			tell := func(pod any) {
				if group, ok := groupOf(pod, label); ok {
					changed(label, group)
				}
			}
			_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: tell, UpdateFunc: func(before, after any) { tell(before); tell(after) }, DeleteFunc: tell,
			})
			if err := errors.Join(err, informer.SetTransform(trim)); err != nil {
				return nil, fmt.Errorf("follow pods that have %s: %w", phase, err)
			}
			f.informers[ending{label, phase}] = informer
		}
	}
	return f, nil
}

// Run follows the pods until the context ends.
func (f *Finished) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, informer := range f.informers {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
}

// HasSynced says that all pods there were at the start are known.
func (f *Finished) HasSynced() bool {
	for _, informer := range f.informers {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// Count returns how many pods of a group have succeeded and how many have failed.
func (f *Finished) Count(label string, group types.NamespacedName) (succeeded, failed int) {
	return f.count(ending{label, corev1.PodSucceeded}, group), f.count(ending{label, corev1.PodFailed}, group)
}

func (f *Finished) count(e ending, group types.NamespacedName) int {
	pods, err := f.informers[e].GetIndexer().IndexKeys(byGroup, group.String())
	if err != nil {
		return 0 // there is always the index
	}
	return len(pods)
}

// groupOf returns the group that a pod is of by a label.
func groupOf(pod any, label string) (types.NamespacedName, bool) {
	if tombstone, ok := pod.(cache.DeletedFinalStateUnknown); ok {
		pod = tombstone.Obj
	}
	metadata, ok := pod.(*metav1.PartialObjectMetadata)
	if !ok {
		return types.NamespacedName{}, false
	}
	by, name, _ := v1alpha1.GroupLabel(metadata.Labels)
	return types.NamespacedName{Namespace: metadata.Namespace, Name: name}, by == label
}

// trim drops what is not read here.
func trim(pod any) (any, error) {
	if metadata, ok := pod.(*metav1.PartialObjectMetadata); ok {
		metadata.Annotations, metadata.ManagedFields, metadata.OwnerReferences = nil, nil, nil
	}
	return pod, nil
}
