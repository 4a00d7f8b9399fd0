package uninstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/scaleup"
	"muster.dev/muster/server/release"
)

// gates are taken off by package release, all at once.
func (f *finder) gates() error {
	var gated []string
	var failed error
	options := release.Options{
		Pods:   f.Client.CoreV1(),
		Clock:  f.Clock,
		DryRun: true,
		Told: func(pod types.NamespacedName, gates []string, err error) {
			gated = append(gated, fmt.Sprintf("%s (%s)", pod, strings.Join(gates, " ")))
			failed = errors.Join(failed, err)
		},
	}
	if _, _, err := release.Run(f.ctx, options); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if len(gated) > 0 {
		slices.Sort(gated)
		f.add(marks, f.lift, "gates of %d pods: %s", len(gated), strings.Join(gated, ", "))
	}
	return nil
}

func (f *finder) lift(ctx context.Context) error {
	var failed error
	_, _, err := release.Run(
		ctx,
		release.Options{Pods: f.Client.CoreV1(), Clock: f.Clock, Told: func(pod types.NamespacedName, _ []string, err error) {
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", pod, err))
			}
		}},
	)
	return errors.Join(err, failed)
}

// pageSize is how many pods are read at a time.
const pageSize = 500

// pods may bear nominations, annotations and conditions.
func (f *finder) pods() error {
	list := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return f.Client.CoreV1().Pods("").List(ctx, o)
	})
	list.PageSize = pageSize
	return list.EachListItem(f.ctx, metav1.ListOptions{}, func(object runtime.Object) error { return f.pod(object.(*corev1.Pod)) })
}

func (f *finder) pod(pod *corev1.Pod) error {
	metadata, status := map[string]any{}, map[string]any{}
	for _, name := range []string{
		v1alpha1.AnnotationWoken, reschedulingv1alpha1.AnnotationSeparateFrom, reschedulingv1alpha1.AnnotationSeparateWhy,
	} {
		if _, has := pod.Annotations[name]; has {
			metadata[name] = nil
		}
	}
	trimmed, err := cluster.Trim(pod.DeepCopy())
	if err != nil {
		return err
	}
	nominated := &cluster.Pod{Pod: trimmed.(*corev1.Pod)}
	var what []string
	if pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "" && nominated.NominatedBy() == cluster.FieldManager {
		what, status["nominatedNodeName"] = append(what, "nominated to "+pod.Status.NominatedNodeName), nil
	}
	if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == scaleup.ConditionRearrangingHelps }) {
		what = append(what, "condition "+string(scaleup.ConditionRearrangingHelps))
		status["conditions"] = []any{map[string]any{"$patch": "delete", "type": scaleup.ConditionRearrangingHelps}}
	}
	if names := slices.Sorted(maps.Keys(metadata)); len(names) > 0 {
		what = append(what, "annotations "+strings.Join(names, " "))
	}
	if len(what) > 0 {
		patch := map[string]any{"metadata": map[string]any{"uid": pod.UID, "annotations": metadata}, "status": status}
		f.add(marks, f.podPatch(pod, patch, "status"), "Pod %s: %s", fullName(pod), strings.Join(what, ", "))
	}
	if pod.Spec.NodeName == "" && asksForCostless(pod) {
		f.keep(marks, "create it again: pods keep what they ask for, and no kube-scheduler without muster places it", "Pod %s: asks for %s",
			fullName(pod), v1alpha1.ResourceManaged)
	}
	return nil
}

// podPatch patches a pod, or a subresource of it, which takes annotations, too.
func (f *finder) podPatch(pod *corev1.Pod, patch map[string]any, subresources ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		text, err := json.Marshal(patch)
		if err != nil {
			return err
		}
		options := metav1.PatchOptions{FieldManager: cluster.FieldManager}
		_, err = f.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, text, options, subresources...)
		return err
	}
}

func asksForCostless(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool {
		_, managed := c.Resources.Requests[v1alpha1.ResourceManaged]
		_, bound := c.Resources.Requests[v1alpha1.ResourceBound]
		return managed || bound
	})
}

// namespaces have labels by which people have opted them in.
func (f *finder) namespaces() error {
	list, err := f.Client.CoreV1().Namespaces().List(f.ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for i := range list.Items {
		namespace := &list.Items[i]
		labels := map[string]any{}
		for name := range namespace.Labels {
			if strings.HasPrefix(name, domain) {
				labels[name] = nil
			}
		}
		if len(labels) == 0 {
			continue
		}
		f.add(marks, func(ctx context.Context) error {
			text, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}})
			if err != nil {
				return err
			}
			_, err = f.Client.CoreV1().Namespaces().Patch(ctx, namespace.Name, types.MergePatchType, text, metav1.PatchOptions{})
			return err
		}, "Namespace %s: labels %s", namespace.Name, strings.Join(slices.Sorted(maps.Keys(labels)), " "))
	}
	return nil
}

// nodes have marks of the rescheduler.
func (f *finder) nodes() error {
	list, err := f.Client.CoreV1().Nodes().List(f.ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for i := range list.Items {
		name := list.Items[i].Name
		if !executor.Unmark(list.Items[i].DeepCopy()) {
			continue
		}
		f.add(marks, func(ctx context.Context) error {
			return retry.RetryOnConflict(retry.DefaultRetry, func() error {
				node, err := f.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
				if err != nil || !executor.Unmark(node) {
					return err
				}
				_, err = f.Client.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{FieldManager: cluster.FieldManager})
				return err
			})
		}, "Node %s: marks of %s", name, reschedulingv1alpha1.Group)
	}
	return nil
}

// groups have the record of a start, and a status.
func (f *finder) groups() error {
	for _, resource := range v1alpha1.Resources() {
		found, err := f.listed(resource, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range found {
			group := &found[i]
			if group.GetAnnotations()[record.Annotation] == "" {
				continue
			}
			f.add(marks, func(ctx context.Context) error {
				patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":{%q:null}}}`, group.GetUID(), record.Annotation)
				_, err := f.Dynamic.Resource(resource).Namespace(group.GetNamespace()).
					Patch(ctx, group.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
				return err
			}, "PodGroup %s: annotation %s", fullName(group), record.Annotation)
		}
	}
	return nil
}

// records are Leases, and what the rescheduler remembers of evictions.
func (f *finder) records() error {
	leases, err := leasesOf(f.ctx, f.Client)
	if err != nil {
		return err
	}
	namespaces := []string{metav1.NamespaceSystem}
	for i := range leases {
		lease := &leases[i]
		namespaces = append(namespaces, lease.Namespace)
		f.add(records, f.deletion(coordinationv1.SchemeGroupVersion.WithResource("leases"), lease), "Lease %s", fullName(lease))
	}
	slices.Sort(namespaces)
	for _, namespace := range slices.Compact(namespaces) {
		list, err := f.Client.CoreV1().ConfigMaps(namespace).List(f.ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list ConfigMaps: %w", err)
		}
		for i := range list.Items {
			if made := &list.Items[i]; strings.HasSuffix(made.Name, "-evictions") && createdBy(made) {
				f.add(records, f.deletion(corev1.SchemeGroupVersion.WithResource("configmaps"), made), "ConfigMap %s", fullName(made))
			}
		}
	}
	return nil
}

// leasesOf lists the Leases that muster writes, and of the kube-schedulers that the chart brings.
func leasesOf(ctx context.Context, client kubernetes.Interface) (own []coordinationv1.Lease, err error) {
	list, err := client.CoordinationV1().Leases("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list leases: %w", err)
	}
	beside := map[string]bool{}
	for i := range list.Items {
		if createdBy(&list.Items[i]) {
			own = append(own, list.Items[i])
			beside[fullName(&list.Items[i])+"-kube-scheduler"] = true
		}
	}
	for i := range list.Items {
		if beside[fullName(&list.Items[i])] {
			own = append(own, list.Items[i])
		}
	}
	return own, nil
}
