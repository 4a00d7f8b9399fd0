package attack

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// stolenMember asks about a member of a gang as if it were of none, and binds it alone.
func stolenMember() Attack {
	return delayAttack(
		Caller,
		"member-without-its-gang",
		"to take a member out of its gang by posting its UID without labels, and to bind it alone",
		func(ctx context.Context, g *ground) (d delay, err error) {
			group := func(name string) *corev1.Pod { return newPod(othersNamespace, name, "1", memberOf("crew", 3)) }
			pods, err := g.stage(ctx, newNodes("deck", 3, "1"), group("crew-0"), group("crew-1"))
			if err != nil {
				return d, err
			}
			stripped := pods["crew-0"].DeepCopy()
			stripped.Labels, stripped.Annotations = nil, nil
			d.about = "the gang as a whole"
			err = amid(ctx, 100*time.Millisecond, func(ctx context.Context, _ int) {
				ctx, enough := context.WithTimeout(ctx, time.Second) // bind is held as long as its caller waits
				defer enough()
				g.post(ctx, "filter", filterBody(stripped, "deck-0", "deck-1", "deck-2"))
				g.bind(ctx, stripped, stripped.UID, "deck-0")
			}, func() error {
				if err := settle(ctx); err != nil {
					return err
				}
				if d.early, err = g.bound(ctx, pods["crew-0"], pods["crew-1"]); err != nil {
					return err
				}
				last, err := g.create(ctx, group("crew-2"))
				if err == nil {
					d.waited, d.bound = g.awaitBound(ctx, pods["crew-0"], pods["crew-1"], last["crew-2"])
				}
				return err
			})
			return d, err
		},
	)
}

// gatedPods asks about pods that are gated as if they were not.
func gatedPods() Attack {
	return plan[eviction]{
		name:  "gated-pods",
		by:    Caller,
		tries: "to have pods evicted, room kept or a gang started for pods that are gated, by posting them without gates",
		do: func(ctx context.Context, g *ground) (e eviction, err error) {
			const approval = "example.com/approval"
			member := func(name string) *corev1.Pod {
				return newPod(othersNamespace, name, "4", memberOf("gated", 2), gated(approval))
			}
			victim := newPod(othersNamespace, "victim", "4", on("prey-0"), func(pod *corev1.Pod) { pod.Spec.Priority = nil })
			pods, err := g.stage(
				ctx, newNodes("prey", 3, "4"), victim, member("gated-0"), member("gated-1"),
				newPod(othersNamespace, "gated", "4", scheduledBy(byHand), gated(approval)),
			)
			if err != nil {
				return e, err
			}
			var answers []answer
			for _, name := range []string{"gated-0", "gated-1", "gated"} {
				forged := pods[name].DeepCopy()
				forged.Spec.SchedulingGates, forged.Spec.Priority = nil, new(int32(1_000_000))
				answers = append(answers, g.post(ctx, "filter", filterBody(forged, "prey-0", "prey-1", "prey-2")),
					g.post(ctx, "preempt", preemptBody(forged, map[string][]string{"prey-0": {"made-up"}})))
				limited, enough := context.WithTimeout(ctx, settling)
				g.bind(limited, forged, forged.UID, "prey-1")
				enough()
			}
			// Both free nodes are for who is not gated.
			free, err := g.create(ctx, newPod(othersNamespace, "free-0", "4"), newPod(othersNamespace, "free-1", "4"))
			if err != nil {
				return e, err
			}
			if _, bound := g.awaitBound(ctx, free["free-0"], free["free-1"]); !bound {
				e.room = "pods that are not gated find no place"
			}
			evicted, err := g.evictionOf(ctx, answers, pods["victim"])
			evicted.room, evicted.planned = e.room, nil // a gang of gated members is followed
			names, boundErr := g.bound(ctx, pods["gated-0"], pods["gated-1"], pods["gated"])
			if len(names) > 0 {
				evicted.room = "gated pods are bound: " + names[0]
			}
			if err == nil {
				err = boundErr
			}
			return evicted, err
		},
		check:     eviction.judge,
		successes: evictions(),
	}.attack()
}
