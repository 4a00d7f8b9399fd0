package attack

import (
	"context"
	"fmt"
	"math"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/gang/record"
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
		{"ask in another namespace", func(ctx context.Context, u *user) error {
			return ask(ctx, u.dynamic, othersNamespace, "spy", "pod/theirs")
		}},
		{"answer a question", func(ctx context.Context, u *user) error {
			_, err := u.dynamic.Resource(explanationv1alpha1.Questions()).Namespace(tenantNamespace).Patch(
				ctx, "mine", "application/merge-patch+json", []byte(`{"status": {"summary": "all is well"}}`), metav1.PatchOptions{}, "status",
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
				ObjectMeta: metav1.ObjectMeta{Name: "waiting", Namespace: tenantNamespace},
				Target:     corev1.ObjectReference{Kind: "Node", Name: "estate-0"},
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

// newGroup is a PodGroup. What is in spec is set besides.
func newGroup(namespace, name string, minMember int64, change ...func(*unstructured.Unstructured)) *unstructured.Unstructured {
	group := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": name, "namespace": namespace},
		"spec":     map[string]any{"minMember": minMember},
	}}
	for _, f := range change {
		f(group)
	}
	return group
}

func asking(field string, value any) func(*unstructured.Unstructured) {
	return func(group *unstructured.Unstructured) { group.Object["spec"].(map[string]any)[field] = value }
}

func saying(key, value string) func(*unstructured.Unstructured) {
	return func(group *unstructured.Unstructured) { group.SetAnnotations(map[string]string{key: value}) }
}

func (g *ground) createGroup(ctx context.Context, as dynamic.Interface, group *unstructured.Unstructured) error {
	resource := v1alpha1.ResourceOf(group.GroupVersionKind().Group)
	if _, err := as.Resource(resource).Namespace(group.GetNamespace()).Create(ctx, group, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create PodGroup %s: %w", group.GetName(), err)
	}
	return nil
}

// of makes a pod a member of a PodGroup.
func of(group string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels[v1alpha1.LabelX] = group }
}

// createAs creates pods as the tenant, whose they are.
func (g *ground) createAs(ctx context.Context, as *user, pods ...*corev1.Pod) (created []*corev1.Pod, err error) {
	for _, pod := range pods {
		now, err := as.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("create pod %s as another one: %w", pod.Name, err)
		}
		created = append(created, now)
	}
	for _, pod := range created {
		if err := g.awaitSeen(ctx, pod); err != nil {
			return nil, err
		}
	}
	return created, nil
}

// startsAmid says how long a gang of others takes to start.
func (g *ground) startsAmid(ctx context.Context, d *delay) error {
	d.about = "a gang of others"
	pods, err := g.create(
		ctx, newPod(othersNamespace, "good-0", "1", memberOf("good", 2)), newPod(othersNamespace, "good-1", "1", memberOf("good", 2)),
	)
	if err == nil {
		d.waited, d.bound = g.awaitBound(ctx, pods["good-0"], pods["good-1"])
	}
	return err
}

func endlessGroups() Attack {
	return writeAttack(
		Tenant,
		"endless-podgroups",
		"to stop muster by quantities of PodGroups that take for ever to parse",
		func(ctx context.Context, g *ground) (r refusals, err error) {
			var writes []write
			for i, quantity := range endless {
				for _, apiGroup := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
					group := newGroup(tenantNamespace, fmt.Sprintf("endless-%d", i), 1, asking("minResources", map[string]any{"cpu": quantity}))
					group.SetAPIVersion(apiGroup + "/" + v1alpha1.Version)
					writes = append(
						writes,
						write{fmt.Sprintf("create a PodGroup of %s that asks for %.20s", apiGroup, quantity), func(ctx context.Context, u *user) error {
							_, err := u.dynamic.Resource(v1alpha1.ResourceOf(apiGroup)).Namespace(tenantNamespace).Create(ctx, group, metav1.CreateOptions{})
							return err
						}},
					)
				}
			}
			return g.tenant.try(ctx, writes)
		},
	)
}

func hugeGangs() Attack {
	return delayAttack(
		Tenant,
		"gangs-of-any-size",
		"to stop others by gangs of two milliards of members",
		func(ctx context.Context, g *ground) (d delay, err error) {
			if _, err := g.stage(ctx, newNodes("hall", 1, "8")); err != nil {
				return d, err
			}
			pods := []*corev1.Pod{
				newPod(tenantNamespace, "huge", "1", memberOf("huge", 2147483647)),
				newPod(tenantNamespace, "large", "1", memberOf("large", maxMembers+1)),
				newPod(tenantNamespace, "negative", "1", memberOf("negative", -1)), newPod(tenantNamespace, "asked", "1", of("asked")),
				newPod(tenantNamespace, "endless", "1", memberOf("endless", 1), annotated(v1alpha1.AnnotationMinMember, "1e30000000")),
			}
			if err := g.createGroup(ctx, g.tenant.dynamic, newGroup(tenantNamespace, "asked", 2147483647)); err != nil {
				return d, err
			}
			created, err := g.createAs(ctx, g.tenant, pods...)
			if err != nil {
				return d, err
			}
			if err := g.startsAmid(ctx, &d); err != nil {
				return d, err
			}
			d.early, err = g.bound(ctx, created...)
			return d, err
		},
	)
}

func foreignGroup() Attack {
	return delayAttack(
		Tenant,
		"group-of-another-namespace",
		"to delay a gang of another namespace, or to have it start too early, by saying that they start together",
		func(ctx context.Context, g *ground) (d delay, err error) {
			if _, err := g.stage(ctx, newNodes("hall", 1, "8")); err != nil {
				return d, err
			}
			if err := g.createGroup(ctx, g.dynamic, newGroup(othersNamespace, "crew", 2)); err != nil {
				return d, err
			}
			crew, err := g.create(ctx, newPod(othersNamespace, "crew-0", "1", of("crew")))
			if err != nil {
				return d, err
			}
			for name, minMember := range map[string]int64{"leech": 1, "anchor": 5} {
				group := newGroup(tenantNamespace, name, minMember, saying(v1alpha1.AnnotationGroups, `["`+othersNamespace+`/crew"]`))
				if err := g.createGroup(ctx, g.tenant.dynamic, group); err != nil {
					return d, err
				}
				if _, err := g.createAs(ctx, g.tenant, newPod(tenantNamespace, name, "1", of(name))); err != nil {
					return d, err
				}
			}
			if err := settle(ctx); err != nil {
				return d, err
			}
			if d.early, err = g.bound(ctx, crew["crew-0"]); err != nil {
				return d, err
			}
			last, err := g.create(ctx, newPod(othersNamespace, "crew-1", "1", of("crew")))
			if err == nil {
				d.about = "the gang of another namespace"
				d.waited, d.bound = g.awaitBound(ctx, crew["crew-0"], last["crew-1"])
			}
			return d, err
		},
	)
}

// forgedRecord imitates what muster writes on a PodGroup once it has let members go.
const forgedRecord = `{"members": 1000000000, "minMember": 2, "time": "2099-01-01T00:00:00Z", "epoch": {"lease": "2099-01-01T00:00:00Z", ` +
	`"transitions": 2147483647}}`

func forgedCommit() Attack {
	return plan[eviction]{
		name:  "forged-record-of-a-start",
		by:    Tenant,
		tries: "to evict others, or to keep their room for good, by the record that its own gang has started",
		do: func(ctx context.Context, g *ground) (e eviction, err error) {
			pods, err := g.stage(ctx, newNodes("forge", 3, "4"), newPod(othersNamespace, "victim", "4", on("forge-0")))
			if err != nil {
				return e, err
			}
			forged := newGroup(
				tenantNamespace, "forged", 2, saying(record.Annotation, forgedRecord), asking("scheduleTimeoutSeconds", int64(2_000_000_000)),
			)
			if err := g.createGroup(ctx, g.tenant.dynamic, forged); err != nil {
				return e, err
			}
			half := newPod(tenantNamespace, "forged-0", "4", of("forged"))
			if _, err := g.createAs(
				ctx,
				g.tenant,
				half,
				newPod(tenantNamespace, "forged-1", "4", of("forged"), scheduledBy(byHand)),
				newPod(tenantNamespace, "forged-2", "4", of("forged"), scheduledBy(byHand)),
			); err != nil {
				return e, err
			}
			if err := settle(ctx); err != nil {
				return e, err
			}
			// One of the members is of a scheduler that there is not: it can never be bound.
			honest, err := g.create(ctx, newPod(othersNamespace, "honest", "4"))
			if err != nil {
				return e, err
			}
			_, bound := g.awaitBound(ctx, honest["honest"])
			if e, err = g.evictionOf(ctx, nil, pods["victim"]); !bound {
				e.room = "a pod of others finds no place"
			}
			e.planned = nil // its own gang is followed
			return e, err
		},
		check:     eviction.judge,
		successes: evictions(),
	}.attack()
}
