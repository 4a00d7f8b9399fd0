package attack

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/record"
)

// urgent is the priority class of pods of others: they come before all pods of the tenant.
const urgent = "urgent"

func (g *ground) createUrgent(ctx context.Context) error {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: urgent}, Value: 900_000_000}
	_, err := g.client.SchedulingV1().PriorityClasses().Create(ctx, class, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create a priority class: %w", err)
	}
	return eventually(ctx, "pods may be urgent", func() error {
		pod := newPod(othersNamespace, "urgent", "1", isUrgent)
		_, err := g.client.CoreV1().Pods(othersNamespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

func isUrgent(pod *corev1.Pod) { pod.Spec.PriorityClassName = urgent }

// another has another process of muster lead: the former one dies, and its lease runs out.
func (g *ground) another(ctx context.Context) error {
	if err := g.muster.Crash(); err != nil {
		return fmt.Errorf("kill muster: %w", err)
	}
	return g.muster.Restart(ctx)
}

// centuries is a grace period that ends in 2312.
const centuries = 9_000_000_000

func endlessGrace() Attack {
	return plan[eviction]{
		name:  "grace-of-centuries",
		by:    Tenant,
		tries: "to have a gang of the highest priority evict others and keep their room until 2312, by a pod that takes so long to end",
		do: func(ctx context.Context, g *ground) (e eviction, err error) {
			if err := g.createUrgent(ctx); err != nil {
				return e, err
			}
			pods, err := g.stage(ctx, newNodes("grave", 2, "4"), newPod(othersNamespace, "victim", "4", on("grave-1")))
			if err != nil {
				return e, err
			}
			undead := newPod(tenantNamespace, "undead", "4", on("grave-0"), func(pod *corev1.Pod) {
				pod.Spec.TerminationGracePeriodSeconds = new(int64(centuries))
			})
			if _, err := g.createAs(ctx, g.tenant, undead); err != nil {
				return e, err
			}
			if err := g.tenant.client.CoreV1().Pods(tenantNamespace).Delete(ctx, undead.Name, metav1.DeleteOptions{}); err != nil {
				return e, fmt.Errorf("delete a pod as the tenant: %w", err)
			}
			gang, err := g.create(
				ctx, newPod(othersNamespace, "gang-0", "4", memberOf("gang", 2), isUrgent),
				newPod(othersNamespace, "gang-1", "4", memberOf("gang", 2), isUrgent),
			)
			if err != nil {
				return e, err
			}
			for _, change := range []func(context.Context) error{settle, g.another, settle} { // muster looks for victims after two seconds
				if err := errors.Join(change(ctx), settle(ctx)); err != nil {
					return e, err
				}
				if e, err = g.evictionOf(ctx, nil, pods["victim"]); err != nil || len(e.evicted) > 0 {
					return e, err
				}
			}
			// With one more node there is room for it, if it does not wait for that of the pod.
			if _, err := g.stage(ctx, []*corev1.Node{newNode("grave-2", "4")}); err != nil {
				return e, err
			}
			e = eviction{}
			if _, bound := g.awaitBound(ctx, gang["gang-0"], gang["gang-1"]); !bound {
				e.room = "a gang waits for a pod that ends in 2312"
			}
			return e, nil
		},
		check:     eviction.judge,
		successes: evictions(),
	}.attack()
}

// recordOn is a record as muster writes it, with other times, on a PodGroup of the tenant.
func recordOn(uid types.UID) string {
	return fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, record.Annotation, fmt.Sprintf(
		`{"members": 2, "minMember": 2, "time": "2099-01-01T00:00:00Z", "until": "2099-01-01T00:00:00Z", "podGroup": %q}`, uid))
}

// forge writes a record on a PodGroup as the tenant, by the name of muster.
func (g *ground) forge(ctx context.Context, u *user, name string) error {
	groups := u.dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace(tenantNamespace)
	group, err := groups.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	_, err = groups.Patch(ctx, name, types.MergePatchType, []byte(recordOn(group.GetUID())), metav1.PatchOptions{FieldManager: "muster"})
	return err
}

func forgedRecords() Attack {
	return writeAttack(Tenant, "records-of-muster", "to write on its PodGroup what muster writes when a gang starts",
		func(ctx context.Context, g *ground) (refusals, error) {
			if err := g.createGroup(ctx, g.tenant.dynamic, newGroup(tenantNamespace, "forged", 2)); err != nil {
				return refusals{}, err
			}
			return g.tenant.try(ctx, []write{{"say that its gang was let go", func(ctx context.Context, u *user) error {
				return g.forge(ctx, u, "forged")
			}}})
		},
	)
}

// recordPolicy is the name of what keeps records muster's own.
const recordPolicy = "muster-records"

// withoutRecordPolicy does something where records may be forged, as without the policy that the chart installs.
func (g *ground) withoutRecordPolicy(ctx context.Context, do func() error) (err error) {
	bindings := g.client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	binding, err := bindings.Get(ctx, recordPolicy, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := bindings.Delete(ctx, recordPolicy, metav1.DeleteOptions{}); err != nil {
		return err
	}
	defer func() {
		binding.ObjectMeta = metav1.ObjectMeta{Name: binding.Name, Labels: binding.Labels}
		_, again := bindings.Create(ctx, binding, metav1.CreateOptions{})
		err = errors.Join(err, again)
	}()
	return do()
}

func forgedOrder() Attack {
	return delayAttack(
		Tenant,
		"forged-record-before-a-restart",
		"to have its gang come before one of the highest priority, by a record of its start that a new leader finds",
		func(ctx context.Context, g *ground) (d delay, err error) {
			if err := g.createUrgent(ctx); err != nil {
				return d, err
			}
			for _, as := range []struct {
				user      *user
				namespace string
				name      string
			}{{g.tenant, tenantNamespace, "forged"}, {&user{client: g.client, dynamic: g.dynamic}, othersNamespace, "honest"}} {
				if err := g.createGroup(ctx, as.user.dynamic, newGroup(as.namespace, as.name, 2)); err != nil {
					return d, err
				}
			}
			forged, err := g.createAs(
				ctx, g.tenant, newPod(tenantNamespace, "forged-0", "4", of("forged")), newPod(tenantNamespace, "forged-1", "4", of("forged")),
			)
			if err != nil {
				return d, err
			}
			honest, err := g.create(
				ctx, newPod(othersNamespace, "honest-0", "4", of("honest"), isUrgent), newPod(othersNamespace, "honest-1", "4", of("honest"), isUrgent),
			)
			if err != nil {
				return d, err
			}
			if err := g.withoutRecordPolicy(ctx, func() error {
				return eventually(ctx, "the record is forged", func() error { return g.forge(ctx, g.tenant, "forged") })
			}); err != nil {
				return d, err
			}
			if err := g.another(ctx); err != nil {
				return d, err
			}
			began := time.Now()
			if _, err := g.stage(ctx, newNodes("vault", 2, "4")); err != nil { // room for one of them
				return d, err
			}
			d.about = "a gang of the highest priority"
			_, d.bound = g.awaitBound(ctx, honest["honest-0"], honest["honest-1"])
			d.waited = time.Since(began)
			d.early, err = g.bound(ctx, forged...)
			return d, err
		},
	)
}
