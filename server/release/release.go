package release

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/pager"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

const (
	writers  = 16  // pods are written to at a time
	pageSize = 500 // pods are read at a time
	passes   = 10  // looks are had at all pods at most: where pods are gated all the time, there is no end
)

// Options say whose gates are lifted.
type Options struct {
	Pods corev1client.PodsGetter
	// Namespace holds it to the pods of one; "" is all.
	Namespace string
	// DryRun has the API server check every write, and make none.
	DryRun bool
	// Told hears of each pod, by one call at a time: which gates it had, or why they were not lifted.
	Told func(pod types.NamespacedName, gates []string, err error)
}

// Run lifts the gates of all pods that have some, and returns of how many, and of how many it could not. It looks
// again as long as it lifts some, so that pods that were created meanwhile, and writes that failed beside them, have
// another chance. Told hears of failures when it has given up.
func Run(ctx context.Context, o Options) (lifted, failed int, err error) {
	for left := passes; ; left-- {
		p := &pass{Options: o, ctx: ctx, failures: map[types.NamespacedName]error{}}
		err := p.run()
		lifted += p.lifted
		if err != nil || p.lifted == 0 || o.DryRun || left == 1 {
			for pod, why := range p.failures {
				o.Told(pod, nil, why)
			}
			return lifted, len(p.failures), err
		}
	}
}

// pass is one look at all pods.
type pass struct {
	Options
	ctx context.Context //nolint:containedctx // it lives for one call

	mu       sync.Mutex
	lifted   int
	failures map[types.NamespacedName]error
}

func (p *pass) run() error {
	var work errgroup.Group
	work.SetLimit(writers)
	list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return p.Pods.Pods(p.Namespace).List(ctx, o)
	})
	list.PageSize = pageSize
	// Who has a gate has no node.
	pending := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", "").String()}
	err := list.EachListItem(p.ctx, pending, func(object runtime.Object) error {
		pod := object.(*corev1.Pod)
		if gates := gatesOf(pod); len(gates) > 0 {
			work.Go(func() error { p.lift(pod, gates); return nil })
		}
		return nil
	})
	_ = work.Wait() // none fails
	if err != nil {
		return fmt.Errorf("list pods: %w", err)
	}
	return p.ctx.Err()
}

// lift takes gates off a pod, if it is still the one that was read. Those of others stay.
func (p *pass) lift(pod *corev1.Pod, gates []string) {
	var deletions []any
	for _, gate := range gates {
		deletions = append(deletions, map[string]any{"$patch": "delete", "name": gate})
	}
	options, name := metav1.PatchOptions{FieldManager: cluster.FieldManager}, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if p.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, "spec": map[string]any{"schedulingGates": deletions},
	})
	if err == nil {
		_, err = p.Pods.Pods(pod.Namespace).Patch(p.ctx, pod.Name, types.StrategicMergePatchType, patch, options)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case apierrors.IsNotFound(err): // it is gone
	case err != nil:
		p.failures[name] = err
	default:
		p.lifted++
		p.Told(name, gates, nil)
	}
}

// gatesOf returns the names of those gates of a pod that muster has put on it.
func gatesOf(pod *corev1.Pod) (names []string) {
	for _, gate := range pod.Spec.SchedulingGates {
		if slices.Contains([]string{v1alpha1.SchedulingGate, v1alpha1.AheadGate}, gate.Name) {
			names = append(names, gate.Name)
		}
	}
	return names
}
