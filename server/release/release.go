package release

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/pager"
	"k8s.io/utils/clock"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

const (
	writers  = 16  // pods are written to at a time
	pageSize = 500 // pods are read at a time
	batch    = 100 // pods are released at a time, before it is asked whether to go on
	passes   = 10  // looks that lift some are had at all pods at most: where pods are gated all the time, there is no end

	// After a look that lifts none and fails in a way that may pass, it rests: twice as long each time, for a time in all.
	firstRest, mostRest = 250 * time.Millisecond, 8 * time.Second
	patience            = time.Minute
)

// Options say whose gates are lifted.
type Options struct {
	Pods corev1client.PodsGetter
	// Namespace holds it to the pods of one; "" is all.
	Namespace string
	// DryRun has the API server check every write, and make none.
	DryRun bool
	Clock  clock.Clock
	// MayGo, if set, is asked before each batch of pods. No gate is lifted after it has returned an error. With ErrBack
	// nothing is tried again.
	MayGo func(context.Context) error
	// Told hears of each pod, by one call at a time: which gates it had, or why they were not lifted.
	Told func(pod types.NamespacedName, gates []string, err error)
}

// Run lifts the gates of all pods that have some, and returns of how many, and of how many it could not. It looks
// again as long as it lifts some, so that pods that were created meanwhile, and writes that failed beside them, have
// another chance. Where it lifts none, and the API server was away or overloaded, it tries for a minute. Told hears of
// failures when it has given up.
func Run(ctx context.Context, o Options) (lifted, failed int, err error) {
	rest, rested := firstRest, time.Duration(0)
	for left := passes; ; {
		p := &pass{Options: o, ctx: ctx, failures: map[types.NamespacedName]error{}}
		err := p.run()
		lifted += p.lifted
		again := !o.DryRun && !errors.Is(err, ErrBack) && ctx.Err() == nil
		switch {
		case again && p.lifted > 0:
			left--
			again = left > 0 && (err == nil || mayPass(err))
		case again && rested < patience && p.mayPass(err):
			again = o.sleep(ctx, rest)
			rest, rested = min(2*rest, mostRest), rested+rest
		default:
			again = false
		}
		if !again {
			for pod, why := range p.failures {
				o.Told(pod, nil, why)
			}
			return lifted, len(p.failures), err
		}
	}
}

// sleep reports whether the time has passed, and not been cut short.
func (o *Options) sleep(ctx context.Context, rest time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-o.Clock.After(rest):
		return true
	}
}

// mayPass reports whether a request may succeed later, without anybody's doing.
func mayPass(err error) bool {
	return !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err)
}

// pass is one look at all pods.
type pass struct {
	Options
	ctx context.Context //nolint:containedctx // it lives for one call

	mu       sync.Mutex
	lifted   int
	failures map[types.NamespacedName]error
}

// mayPass reports whether something failed, and may succeed later.
func (p *pass) mayPass(err error) bool {
	if err != nil {
		return mayPass(err)
	}
	for _, why := range p.failures {
		if mayPass(why) {
			return true
		}
	}
	return false
}

func (p *pass) run() error {
	var gated []*corev1.Pod
	list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		pods, err := p.Pods.Pods(p.Namespace).List(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		return pods, nil
	})
	list.PageSize = pageSize
	// Who has a gate has no node.
	pending := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", "").String()}
	err := list.EachListItem(p.ctx, pending, func(object runtime.Object) error {
		pod := object.(*corev1.Pod)
		if len(gatesOf(pod)) > 0 {
			gated = append(gated, pod)
		}
		if len(gated) < batch {
			return nil
		}
		full := gated
		gated = nil
		return p.release(full)
	})
	if err != nil {
		return err
	}
	return p.release(gated)
}

// release lifts the gates of a batch of pods.
func (p *pass) release(gated []*corev1.Pod) error {
	if len(gated) == 0 {
		return p.ctx.Err()
	}
	if p.MayGo != nil {
		if err := p.MayGo(p.ctx); err != nil {
			return err
		}
	}
	var work errgroup.Group
	work.SetLimit(writers)
	for _, pod := range gated {
		work.Go(func() error { p.lift(pod, gatesOf(pod)); return nil })
	}
	_ = work.Wait() // none fails
	return p.ctx.Err()
}

// lift takes gates off a pod, if it is still the one that was read. Others' gates stay. A placeholder pod, which is never
// to run, is deleted instead.
func (p *pass) lift(pod *corev1.Pod, gates []string) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	var dryRun []string
	if p.DryRun {
		dryRun = []string{metav1.DryRunAll}
	}
	var err error
	if isPlaceholder(pod) {
		err = p.Pods.Pods(pod.Namespace).Delete(p.ctx, pod.Name, metav1.DeleteOptions{
			Preconditions: metav1.NewUIDPreconditions(string(pod.UID)), DryRun: dryRun,
		})
	} else {
		err = p.patch(pod, gates, dryRun)
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

func (p *pass) patch(pod *corev1.Pod, gates, dryRun []string) error {
	var deletions []any
	for _, gate := range gates {
		deletions = append(deletions, map[string]any{"$patch": "delete", "name": gate})
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID}, "spec": map[string]any{"schedulingGates": deletions},
	})
	if err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: cluster.FieldManager, DryRun: dryRun}
	_, err = p.Pods.Pods(pod.Namespace).Patch(p.ctx, pod.Name, types.StrategicMergePatchType, patch, options)
	return err
}

// gatesOf returns the names of those gates of a pod that muster has put on it.
func gatesOf(pod *corev1.Pod) (names []string) {
	for _, gate := range pod.Spec.SchedulingGates {
		ours := gate.Name == v1alpha1.PlaceholderGate && isPlaceholder(pod)
		if ours || slices.Contains([]string{v1alpha1.SchedulingGate, v1alpha1.AheadGate}, gate.Name) {
			names = append(names, gate.Name)
		}
	}
	return names
}

// isPlaceholder reports whether muster has created a pod to keep room for a plan. That somebody has put the gate on a pod
// makes it none.
func isPlaceholder(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return pod.Labels[v1alpha1.LabelPlaceholder] == "true" && owner != nil && owner.Kind == reschedulingv1alpha1.Kind &&
		strings.HasPrefix(owner.APIVersion, reschedulingv1alpha1.Group+"/")
}
