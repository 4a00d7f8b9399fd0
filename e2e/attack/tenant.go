package attack

import (
	"context"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
)

// tenantRights are writes that a tenant has no right to, and which would have muster do for it what it may not.
func tenantRights() Attack {
	creates := func(about string, pod *corev1.Pod) write {
		return write{about, func(ctx context.Context, u *user) error {
			_, err := u.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
			return err
		}}
	}
	numbered := newPod(tenantNamespace, "urgent", "1", func(pod *corev1.Pod) { pod.Spec.Priority = new(int32(1_000_000_000)) })
	largest := newPod(tenantNamespace, "most-urgent", "1", func(pod *corev1.Pod) { pod.Spec.Priority = new(int32(math.MaxInt32)) })
	named := newPod(tenantNamespace, "named", "1", func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "made-up" })
	writes := []write{
		creates("create a pod with a priority by number", numbered),
		creates("create a pod of the largest priority", largest),
		creates("create a pod of a priority that there is not", named),
		creates("create a pod in another namespace", newPod(othersNamespace, "guest", "1")),
		{"say what nodes use", func(ctx context.Context, u *user) error {
			metric := &unstructured.Unstructured{
				Object: map[string]any{
					"apiVersion": "slo.koordinator.sh/v1alpha1",
					"kind":       "NodeMetric",
					"metadata":   map[string]any{"name": "estate-0"},
				},
			}
			_, err := u.dynamic.Resource(slov1alpha1.NodeMetrics()).Create(ctx, metric, metav1.CreateOptions{})
			return err
		}},
		{"plan what the rescheduler does", func(ctx context.Context, u *user) error {
			plan := &unstructured.Unstructured{
				Object: map[string]any{
					"apiVersion": "rescheduling.muster.dev/v1alpha1",
					"kind":       "ReschedulingPlan",
					"metadata":   map[string]any{"name": "evil"},
				},
			}
			_, err := u.dynamic.Resource(reschedulingv1alpha1.ReschedulingPlans()).Create(ctx, plan, metav1.CreateOptions{})
			return err
		}},
		{"say that its group has started", func(ctx context.Context, u *user) error {
			groups := u.dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace(tenantNamespace)
			_, err := groups.Patch(
				ctx, "mine", "application/merge-patch+json", []byte(`{"status": {"phase": "Scheduled"}}`), metav1.PatchOptions{}, "status",
			)
			return err
		}},
		{"nominate its pod to a node", func(ctx context.Context, u *user) error {
			_, err := u.client.CoreV1().
				Pods(tenantNamespace).
				Patch(ctx, "waiting", strategicMerge, []byte(`{"status": {"nominatedNodeName": "estate-0"}}`), metav1.PatchOptions{}, "status")
			return err
		}},
		{"bind its pod", func(ctx context.Context, u *user) error {
			return u.client.CoreV1().Pods(tenantNamespace).Bind(ctx, &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{
					Name:      "waiting",
					Namespace: tenantNamespace,
				},
				Target: corev1.ObjectReference{Kind: "Node", Name: "estate-0"},
			}, metav1.CreateOptions{})
		}},
		{"delete pods of others", func(ctx context.Context, u *user) error {
			return u.client.CoreV1().Pods(othersNamespace).Delete(ctx, "theirs", metav1.DeleteOptions{})
		}},
	}
	return writeAttack(
		Tenant,
		"rights-of-others",
		"to be more urgent than it may, to steer by usage, plans and status, or to bind by itself",
		func(ctx context.Context, g *ground) (refusals, error) {
			pods := []*corev1.Pod{
				newPod(othersNamespace, "theirs", "1", on("estate-0")), newPod(tenantNamespace, "waiting", "1", scheduledBy("nobody")),
			}
			if _, err := g.stage(ctx, newNodes("estate", 1, "4"), pods...); err != nil {
				return refusals{}, err
			}
			if err := g.createGroup(ctx, g.tenant.dynamic, newGroup(tenantNamespace, "mine", 1)); err != nil {
				return refusals{}, err
			}
			return g.tenant.try(ctx, writes)
		},
	)
}
