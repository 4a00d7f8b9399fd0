package faultcampaign

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// inFlight is how many pods are ended at a time.
const inFlight = 16

// Machines ends pods as kubelets and the pod garbage collector do, where there are none: the pods whose time to end is
// over, and those on nodes that are lost. Its
// methods are safe for concurrent use.
type Machines struct {
	client kubernetes.Interface

	mu   sync.Mutex
	lost map[string]bool
	pods map[types.UID]*corev1.Pod // that are bound
}

// NewMachines returns machines on which there is nothing yet.
func NewMachines(client kubernetes.Interface) *Machines {
	return &Machines{client: client, lost: map[string]bool{}, pods: map[types.UID]*corev1.Pod{}}
}

// Observe takes in an event of a node or a pod.
func (m *Machines) Observe(event watch.Event) {
	gone := event.Type == watch.Deleted
	m.mu.Lock()
	defer m.mu.Unlock()
	switch object := event.Object.(type) {
	case *corev1.Node:
		m.lost[object.Name] = gone
	case *corev1.Pod:
		if gone {
			delete(m.pods, object.UID)
		} else if object.Spec.NodeName != "" {
			m.pods[object.UID] = object
		}
	}
}

// due are the pods to end.
func (m *Machines) due(now time.Time) []*corev1.Pod {
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []*corev1.Pod
	for _, p := range m.pods {
		if ends := p.DeletionTimestamp; m.lost[p.Spec.NodeName] || ends != nil && ends.Time.Before(now) {
			due = append(due, p)
		}
	}
	return due
}

// Run ends pods until the context ends.
func (m *Machines) Run(ctx context.Context) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			if err := m.end(ctx, m.due(now)); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

func (m *Machines) end(ctx context.Context, pods []*corev1.Pod) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, p := range pods {
		group.Go(func() error {
			if len(p.Finalizers) > 0 {
				if err := m.fail(ctx, p); err != nil {
					return err
				}
			}
			now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: &metav1.Preconditions{UID: &p.UID}}
			err := m.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, now)
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) { // of a StatefulSet another one may have its name
				return fmt.Errorf("end pod %s: %w", p.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// fail has a pod fail that ends: somebody looks at how it ended before it is gone, as a Job does.
func (m *Machines) fail(ctx context.Context, p *corev1.Pod) error {
	if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata": {"uid": %q}, "status": {"phase": %q}}`, p.UID, corev1.PodFailed)
	_, err := m.client.CoreV1().Pods(p.Namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("have pod %s fail: %w", p.Name, err)
	}
	return nil
}
