package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/utils/ptr"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/rescheduler/policy"
	"muster.dev/muster/server/backfill"
)

// Try says what would become of the pods that are made of a manifest, in YAML or JSON. Pods that have a place take it from the ones that
// come after: by priority, then by name. A World is tried once. The error says what is wrong with the manifest.
func (w *World) Try(manifest []byte, namespace string) (*Answer, error) {
	batches, err := w.submit(manifest, namespace)
	if err != nil {
		return nil, err
	}
	answer := &Answer{Outcome: Now}
	for len(batches) > 0 {
		b := batches[0]
		now, seeks := w.gangs.Outlook(b.key, nil, false)
		batches = b.join(batches[1:], now.Gangs)
		part, err := w.judge(&b, &now, seeks)
		if err != nil {
			return nil, err
		}
		if part.Outcome.rank() > answer.Outcome.rank() {
			answer.Outcome = part.Outcome
		}
		answer.Parts = append(answer.Parts, part)
	}
	return answer, nil
}

// judge says what would become of a batch by its outlook now, if places are sought, and has it count where it would be.
func (w *World) judge(b *batch, now *gang.Outlook, seeks bool) (Part, error) {
	part := Part{Name: b.name, Gang: b.gang, Pods: len(b.pods)}
	if !seeks || slices.ContainsFunc(b.pods, func(pod *cluster.Pod) bool { return w.profiles.Of(pod.Spec.SchedulerName) == nil }) {
		part.Outcome, part.Why = Never, w.whyNot(b)
		return part, nil
	}
	part.Wanted, part.Found = now.Wanted, now.Found
	if now.Fits() {
		part.Outcome = Now
		return part, w.take(&part, now)
	}
	if evicted, err := w.evict(b, &part, now.Priority); evicted || err != nil {
		return part, err
	}
	part.Why = why(now, "now")
	w.forecast(b, &part)
	if moved, err := w.move(b, &part); moved || err != nil {
		return part, err
	}
	if part.Outcome == Later {
		if later, ok := w.gangs.Outlook(b.key, w.ends().Of, false); ok && later.Fits() {
			return part, w.take(&part, &later)
		}
		return part, nil
	}
	if err := w.whatHelps(b, &part, now); err != nil || b.gang {
		return part, err
	}
	return part, w.take(&part, now) // the pods that have room do not wait for the others
}

// whyNot says why no places are sought for a batch.
func (w *World) whyNot(b *batch) string {
	for _, pod := range b.pods {
		if _, err := w.profiles.Named(pod.Spec.SchedulerName); err != nil {
			return err.Error()
		}
	}
	for _, about := range w.gangs.About(b.key.NamespacedName) {
		switch {
		case about.Label != b.key.Label:
		case about.Wrong != "":
			return about.Wrong
		case about.Missing > 0:
			return fmt.Sprintf("%d pods have to start together, and %d more are to be created", about.MinMember, about.Missing)
		case about.Bound > 0:
			return fmt.Sprintf("there is a gang %s already, with %d members on nodes", about.Name, about.Bound)
		case about.Why != "":
			return about.Why
		}
	}
	return "no places are sought for it"
}

// forecast says when a batch would start, unless nothing can be said.
func (w *World) forecast(b *batch, part *Part) {
	forecasts, ok := w.booker.When(b.key.NamespacedName)
	if !ok {
		return
	}
	for i := range forecasts.Gangs {
		f := &forecasts.Gangs[i]
		if f.Label != b.key.Label || f.Outcome != backfill.Later {
			continue
		}
		part.Outcome, part.At, part.InSeconds, part.Ends, part.Last = Later, f.At, f.InSeconds, f.Ends, f.Last
		if f.Varies() {
			part.By = f.By
		}
	}
}

// evict finds out whether a batch has room once pods of lower priority are gone, the lowest first, and has it count there without them.
func (w *World) evict(b *batch, part *Part, priority int32) (bool, error) {
	never := func(pod *cluster.Pod) bool { return ptr.Deref(pod.Spec.PreemptionPolicy, "") == corev1.PreemptNever }
	if b.gang && w.evicts == config.EvictNever || slices.ContainsFunc(b.pods, never) {
		return false, nil
	}
	lower := slices.DeleteFunc(w.everyEnd(nil), func(end runtimes.End) bool {
		return corev1helpers.PodPriority(end.Pod.Pod) >= priority
	})
	slices.SortStableFunc(lower, func(a, b runtimes.End) int {
		return cmp.Compare(corev1helpers.PodPriority(a.Pod.Pod), corev1helpers.PodPriority(b.Pod.Pod))
	})
	if len(lower) == 0 {
		return false, nil
	}
	then, ok := w.gangs.Outlook(b.key, lower, false)
	if !ok || !then.Fits() {
		return false, nil
	}
	part.Outcome = AfterEvictions
	on := sets.New[string]()
	for _, place := range then.Places {
		on.Insert(then.Snapshot.Node(place.Node).Name)
	}
	for _, end := range then.Ends {
		if on.Has(end.Node.Name) {
			part.Evicted++
			if err := w.cluster.Delete(end.Pod.Pod); err != nil {
				return true, err
			}
		}
	}
	return true, w.take(part, &then)
}

// move finds out whether a batch has room once others have moved, and has them count where they would be.
func (w *World) move(b *batch, part *Part) (bool, error) {
	problem := policy.Of(w.cluster, w.problem).Problem
	plan := problem.MakeRoom(problem.Pending(b.pods))
	if len(plan.Steps) == 0 || len(plan.Unplaced) > 0 {
		return false, nil
	}
	part.Outcome = AfterMoves
	for i := range plan.Steps {
		step := &plan.Steps[i]
		part.Moves = append(part.Moves, Move{Pod: step.Pod.FullName(), From: step.From.Name, To: step.To.Name})
		if err := w.bind(step.Pod, step.To.Name); err != nil {
			return true, err
		}
	}
	for _, at := range plan.Placements {
		if err := w.settle(part, at.Pod, at.Node.Name); err != nil {
			return true, err
		}
	}
	return true, nil
}

// why says in words what members lack at some time.
func why(o *gang.Outlook, when string) string {
	all := []string{fmt.Sprintf("there is room for %d of %d %s", o.Found, o.Wanted, when)}
	if o.Lacks != "" {
		all = append(all, o.Lacks)
	}
	for _, objection := range o.Against {
		all = append(all, numbered(objection.Nodes, "node")+": "+objection.Reason)
	}
	return strings.Join(all, "; ")
}

// take has pods count at their places: all that start together, and more of the gang.
func (w *World) take(part *Part, o *gang.Outlook) error {
	taken := sets.New[types.UID]()
	for _, at := range append(slices.Clone(o.Places), o.Own...) {
		if at.Node < 0 || taken.Has(at.Pod.UID) {
			continue
		}
		taken.Insert(at.Pod.UID)
		if err := w.settle(part, at.Pod, o.Snapshot.Node(at.Node).Name); err != nil {
			return err
		}
	}
	return nil
}

func (w *World) settle(part *Part, pod *cluster.Pod, node string) error {
	part.Places = append(part.Places, Place{Pod: pod.FullName(), Node: node})
	return w.bind(pod, node)
}

// bind has the view show a pod on a node, wherever it was before.
func (w *World) bind(pod *cluster.Pod, node string) error {
	bound := pod.DeepCopy()
	if bound.Spec.NodeName != "" { // what comes in its place
		if err := w.cluster.Delete(bound); err != nil {
			return err
		}
		bound = bound.DeepCopy()
		bound.UID += types.UID("-moved")
	}
	bound.Spec.NodeName = node
	bound.Status.Phase = corev1.PodRunning
	return w.cluster.Set(bound)
}
