package executor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

// await waits for the replacement of a pod that was evicted, until it is bound and ready, and
// the pod is gone.
func (e *Executor) await(ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int) {
	step, replacement := &plan.Spec.Steps[at], e.newcomers.replacement(plan, at)
	differs, waits := replacement != nil && !e.newcomers.isAlike(replacement, step), ""
	switch {
	case replacement == nil:
		waits = fmt.Sprintf("nothing has come in the place of %s", step.Pod)
	case replacement.Spec.NodeName == "" && replacement.ClaimProblem == cluster.ClaimMissing: // kube-scheduler does not look at it yet
		waits = fmt.Sprintf("the ResourceClaims of %s, which replaces %s, are not there", replacement.FullName(), step.Pod)
	case replacement.Spec.NodeName == "":
		if why := e.unfit(plan, at, replacement); why != "" {
			e.failFor(ctx, plan, at, differs, fmt.Sprintf("%s does not take %s, which %s %s: %s",
				step.To, replacement.FullName(), replaces(differs), step.Pod, why))
			return
		}
		e.nominate(ctx, plan, replacement, step.To)
		waits = fmt.Sprintf("%s, which replaces %s, has no node", replacement.FullName(), step.Pod)
	case replacement.Spec.NodeName == step.From:
		e.failFor(ctx, plan, at, differs, fmt.Sprintf("%s, which %s %s, has come back to %s",
			replacement.FullName(), replaces(differs), step.Pod, step.From))
		return
	case !replacement.Ready():
		waits = fmt.Sprintf("%s, which replaces %s, is not ready", replacement.FullName(), step.Pod)
	case e.on(step.From, step.Pod.UID) != nil:
		waits = fmt.Sprintf("%s has not ended", step.Pod)
	}
	if waits == "" {
		e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) {
			status.Steps[at].Phase, status.Steps[at].Node, status.Steps[at].Siblings = v1alpha1.StepMoved, replacement.Spec.NodeName, nil
			status.Steps[at].Replacement = &v1alpha1.PodReference{Namespace: replacement.Namespace, Name: replacement.Name, UID: replacement.UID}
			status.Message = fmt.Sprintf("%s has moved to %s", step.Pod, replacement.Spec.NodeName)
		})
		return
	}
	if limit := e.patience(step); e.since(plan.Step(at).Evicted) > limit {
		e.fail(ctx, plan, fmt.Sprintf("%s %s after the eviction", waits, limit))
		return
	}
	if e.since(plan.Step(at).Evicted) >= e.TellAfter {
		e.set(ctx, plan, v1alpha1.Executing, waits+" yet")
	}
}

// patience returns how long a replacement may take to be ready: as long as is configured, besides
// the time that the pod has to end.
func (o *Options) patience(step *v1alpha1.Step) time.Duration {
	return o.Limits.ReplacementTimeout + placement.Grace(&step.Replacement.Spec)
}

func (e *Executor) since(t *metav1.Time) time.Duration {
	if t == nil {
		return 0
	}
	return e.Clock.Since(t.Time)
}

// unfit says why the room that was kept does not fit the pod that came, "" when it does. Members of a gang take
// each other's places, so that the place of each is not known: the extender judges them.
func (o *Options) unfit(plan *v1alpha1.ReschedulingPlan, at int, replacement *cluster.Pod) string {
	if plan.Spec.Steps[at].Gang != "" {
		return ""
	}
	why := (&reservation.Rehearsal{Cluster: o.Cluster, Profiles: o.Profiles}).Refusal(plan, at, replacement)
	if o.Cluster.PendingPod(replacement.UID) == nil { // it was bound meanwhile, and may be what takes the room
		return ""
	}
	return why
}

// replaces says in words what a pod does that came in the place of another one.
func replaces(differs bool) string {
	if differs {
		return "is of another kind and replaces"
	}
	return "replaces"
}

// failFor ends a plan for what came in the place of the pod of a step. One of another kind is noted.
func (e *Executor) failFor(ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int, differs bool, why string) {
	if differs {
		e.Record.Differs(ctx, plan.Spec.Steps[at].Pod.UID)
		plan = e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) { status.Steps[at].Differs = true })
	}
	if plan != nil {
		e.fail(ctx, plan, why)
	}
}

// nominate tells kube-scheduler once about the place of a pod: else it may not be among the
// nodes that it looks at. Without, the plan may still succeed. Of gated pods it wants to know nothing. A dry
// run writes nothing on pods.
func (e *Executor) nominate(ctx context.Context, plan *v1alpha1.ReschedulingPlan, pod *cluster.Pod, node string) {
	if e.Mode == v1alpha1.DryRun {
		return
	}
	if pod == nil || pod.Status.NominatedNodeName != "" || len(pod.Spec.SchedulingGates) > 0 || e.told[plan.UID].Has(pod.UID) {
		return
	}
	if e.told[plan.UID] == nil {
		e.told[plan.UID] = sets.New[types.UID]()
	}
	err := e.Client.Nominate(ctx, pod.Pod, node)
	if !nomination.Outdated(err) { // else it is tried again as the pod is by now
		e.told[plan.UID].Insert(pod.UID)
	}
	if err != nil {
		e.Logger.Debug("cannot nominate a pod", "pod", pod.FullName(), "node", node, "err", err)
	}
}

// countWaits counts how long those had waited who got the places that a plan made for them. It is
// to be called once, when the plan has ended.
func (e *Executor) countWaits(plan *v1alpha1.ReschedulingPlan) {
	waited := e.Metrics.waited.WithLabelValues(string(plan.Spec.Policy))
	for _, b := range plan.Spec.Beneficiaries {
		if pod := e.on(b.Node, b.UID); pod != nil {
			waited.Observe(boundAt(pod, e.Clock.Now()).Sub(pod.CreationTimestamp.Time).Seconds())
		}
	}
}

// boundAt returns when a pod got its node, as its condition says, else now.
func boundAt(pod *cluster.Pod, now time.Time) time.Time {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	return now
}

// remember notes the pods like the pod of a step before it goes, so that none of them is taken for its
// replacement. It does so at each attempt, as the controller may have made more of them since the last one.
// Whatever other processes have to know of that, and this one after a restart, it writes into the plan, which
// it returns. It reports whether the pod was still there after them. If not, it keeps what was known: the watch
// shows that a pod goes before it shows the replacement.
func (e *Executor) remember(
	ctx context.Context, plan *v1alpha1.ReschedulingPlan, at int,
) (now *v1alpha1.ReschedulingPlan, stays bool) {
	step := &plan.Spec.Steps[at]
	there := sets.New[types.UID]()
	for _, pod := range e.newcomers.all(step) {
		there.Insert(pod.UID)
	}
	siblings := e.newcomers.mistakable(step)
	if victim := e.on(step.From, step.Pod.UID); victim == nil || victim.DeletionTimestamp != nil {
		return plan, false
	}
	if !sets.New(plan.Step(at).Siblings...).HasAll(siblings...) {
		plan = e.write(ctx, plan, func(status *v1alpha1.ReschedulingPlanStatus) { status.Steps[at].Siblings = siblings })
		if plan == nil {
			return nil, false
		}
	}
	e.newcomers.before[step.Pod.UID] = there
	return plan, true
}

// newcomers tells which pods come in the place of evicted ones, by the pods that were there before.
type newcomers struct {
	cluster  *cluster.Cluster
	profiles *predicates.Profiles
	before   map[types.UID]sets.Set[types.UID] // by the pod that was evicted: its controller's pods at that time
}

// replacement returns the pod that came in the place of the pod of a step, nil when none has. It looks at the
// pods of its controller that no other step has and that were not there before. Among them it prefers one of
// the same kind, then the furthest one. A process that was killed knows which pods were there before on the two
// nodes; elsewhere it takes none for the replacement.
func (n *newcomers) replacement(plan *v1alpha1.ReschedulingPlan, at int) *cluster.Pod {
	step := &plan.Spec.Steps[at]
	before, all := n.before[step.Pod.UID]
	taken := sets.New(plan.Step(at).Siblings...).Union(before)
	for i := range plan.Status.Steps {
		if other := plan.Status.Steps[i].Replacement; other != nil {
			taken.Insert(other.UID)
		}
	}
	candidates := slices.DeleteFunc(n.all(step), func(pod *cluster.Pod) bool {
		known := all || pod.Spec.NodeName == "" || pod.Spec.NodeName == step.From || pod.Spec.NodeName == step.To
		return taken.Has(pod.UID) || !known || pod.DeletionTimestamp != nil
	})
	if len(candidates) == 0 {
		return nil
	}
	return slices.MinFunc(candidates, func(a, b *cluster.Pod) int {
		return cmp.Or(-cmp.Compare(progress(a), progress(b)), n.apart(a, step)-n.apart(b, step), cmp.Compare(a.Name, b.Name))
	})
}

func progress(pod *cluster.Pod) int {
	switch {
	case pod.Ready():
		return 2
	case pod.Spec.NodeName != "":
		return 1
	}
	return 0
}

// mistakable returns the pods that could be taken for the replacement of the pod of a step by a process that
// has not seen them before: pods on the two nodes, and pods without a node that are not of its kind. A waiting
// pod of its kind may have the room as well as the replacement, which then waits in its stead.
func (n *newcomers) mistakable(step *v1alpha1.Step) []types.UID {
	found := map[types.UID]bool{}
	for _, pod := range n.all(step) {
		switch pod.Spec.NodeName {
		case step.From, step.To:
			found[pod.UID] = true
		case "":
			if !n.isAlike(pod, step) {
				found[pod.UID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// all returns the pods that may have come in the place of the pod of a step, with and without a node.
func (n *newcomers) all(step *v1alpha1.Step) (pods []*cluster.Pod) {
	for node := range n.cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if pod.Spec.NodeName != "" && reservation.MayReplace(pod, step) {
				pods = append(pods, pod)
			}
		}
	}
	for _, pod := range n.cluster.Pending() {
		if reservation.MayReplace(pod, step) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// isAlike reports whether a pod is of the kind of the one of a step.
func (n *newcomers) isAlike(pod *cluster.Pod, step *v1alpha1.Step) bool {
	store := n.profiles.Of(step.Replacement.Spec.SchedulerName)
	return store != nil && reservation.IsReplacement(pod, step, store.Profile)
}

// apart is 1 for a pod that is of another kind than the one of a step, and 0 for one of its kind.
func (n *newcomers) apart(pod *cluster.Pod, step *v1alpha1.Step) int {
	if n.isAlike(pod, step) {
		return 0
	}
	return 1
}
