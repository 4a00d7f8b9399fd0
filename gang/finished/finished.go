// Package finished follows the pods of groups that have succeeded or failed, which the view
// of the cluster leaves out.
package finished

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

const (
	// patience is how long somebody waits at most for the pods of the start.
	patience = 10 * time.Second
	// syncPoll is how often it is looked whether they are all known.
	syncPoll = 20 * time.Millisecond
)

// Pod is a pod of a group that has finished, or is gone after that.
type Pod struct {
	UID     types.UID
	Label   string // that makes it a member
	Group   types.NamespacedName
	Created time.Time
	// Phase is Succeeded or Failed.
	Phase corev1.PodPhase
	// Gone says that it is deleted or being deleted, or of this group no more.
	Gone bool
}

// Pods follows the metadata of finished pods that carry a label of a group; in a cluster without groups there are none.
// Its methods are safe for concurrent use.
type Pods struct {
	clock     clock.PassiveClock
	informers []cache.SharedIndexInformer
	handled   []cache.InformerSynced

	mu    sync.Mutex
	until time.Time // somebody waits, at most; zero before it runs
}

// Owned says which pods are members by who owns them.
type Owned struct {
	// Labels are on all of those pods.
	Labels []string
	// Of returns the group of one that has none of muster's labels, by what is known now.
	Of func(pod *metav1.PartialObjectMetadata) (label string, group types.NamespacedName, member bool)
}

// Follow returns Pods that know nothing until they are run. Each pod and each change of
// one is told; tell is called from several goroutines, though not for one label and phase.
func Follow(client metadata.Interface, now clock.PassiveClock, owned Owned, tell func(Pod)) (*Pods, error) {
	p := &Pods{clock: now}
	for _, label := range slices.Concat(v1alpha1.GroupLabels(), owned.Labels) {
		var members groups = byLabel(label)
		transform := trim
		if slices.Contains(owned.Labels, label) {
			members, transform = newFirstSeen(owned.Of), trimOwned
		}
		for _, phase := range []corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed} {
			informer := metadatainformer.NewFilteredMetadataInformer(client, corev1.SchemeGroupVersion.WithResource("pods"), metav1.NamespaceAll, 0,
				cache.Indexers{},
				func(options *metav1.ListOptions) {
					options.LabelSelector = label
					options.FieldSelector = fields.OneTermEqualSelector("status.phase", string(phase)).String()
				}).Informer()
			registration, err := informer.AddEventHandler(handler(members, phase, tell))
			if err := errors.Join(err, informer.SetTransform(transform)); err != nil {
				return nil, fmt.Errorf("follow pods that have %s: %w", phase, err)
			}
			p.informers, p.handled = append(p.informers, informer), append(p.handled, registration.HasSynced)
		}
	}
	return p, nil
}

// groups names the groups of pods, and forgets the pods that are gone.
type groups interface {
	of(pod *metav1.PartialObjectMetadata) (label string, group types.NamespacedName, member bool)
	forget(pod types.UID)
}

// byLabel is the groups of pods that are of them by one label.
type byLabel string

func (label byLabel) of(pod *metav1.PartialObjectMetadata) (by string, group types.NamespacedName, member bool) {
	by, name, _ := v1alpha1.GroupLabel(pod.Labels)
	return by, types.NamespacedName{Namespace: pod.Namespace, Name: name}, by == string(label)
}

func (byLabel) forget(types.UID) {}

// handler tells of the pods that are of a group.
func handler(members groups, phase corev1.PodPhase, tell func(Pod)) cache.ResourceEventHandler {
	of := func(object any) (pod Pod, member bool) {
		if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = tombstone.Obj
		}
		metadata, ok := object.(*metav1.PartialObjectMetadata)
		if !ok {
			return Pod{}, false
		}
		label, name, member := members.of(metadata)
		return Pod{
			UID: metadata.UID, Label: label, Group: name, Created: metadata.CreationTimestamp.Time, Phase: phase,
			Gone: metadata.DeletionTimestamp != nil,
		}, member
	}
	change := func(before, after any) {
		was, wasMember := of(before)
		is, isMember := of(after)
		if wasMember && (!isMember || was.UID != is.UID || was.Group != is.Group) {
			was.Gone = true
			tell(was)
			members.forget(was.UID)
		}
		if isMember {
			tell(is)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { change(nil, pod) },
		UpdateFunc: change,
		DeleteFunc: func(pod any) { change(pod, nil) },
	}
}

// Run follows the pods until the context ends.
func (p *Pods) Run(ctx context.Context) {
	p.mu.Lock()
	p.until = p.clock.Now().Add(patience)
	p.mu.Unlock()
	var running sync.WaitGroup
	defer running.Wait()
	for _, informer := range p.informers {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
}

// Synced reports whether all pods that there were at the start have been told, or that this takes
// too long to be waited for: without them a group may wait for longer than it must, and
// never starts too early.
func (p *Pods) Synced() bool {
	p.mu.Lock()
	until := p.until
	p.mu.Unlock()
	if !until.IsZero() && p.clock.Now().After(until) {
		return true
	}
	for _, synced := range p.handled {
		if !synced() {
			return false
		}
	}
	return true
}

// WaitForSync waits until Synced. It returns the error of the context when that ends before.
func (p *Pods) WaitForSync(ctx context.Context) error {
	return wait.PollUntilContextCancel(ctx, syncPoll, true, func(context.Context) (bool, error) { return p.Synced(), nil })
}

// trim drops what is not read here.
func trim(pod any) (any, error) {
	if metadata, ok := pod.(*metav1.PartialObjectMetadata); ok {
		metadata.Annotations, metadata.ManagedFields, metadata.OwnerReferences = nil, nil, nil
	}
	return pod, nil
}
