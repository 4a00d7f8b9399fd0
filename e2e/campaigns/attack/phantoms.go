package attack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// delay is whether pods of others get their place while an attack lasts.
type delay struct {
	waited time.Duration
	bound  bool
	early  []string // who was bound before it could be
	about  string
}

// tolerable is far beyond what muster is told to let others wait, and before what ends all that is held.
const tolerable = bindTimeout / 2

func (d delay) judge() verdict {
	switch {
	case len(d.early) > 0:
		return succeeded("%v are bound, and must not be", d.early)
	case d.bound && d.waited > tolerable:
		return succeeded("%s was bound after %s only", d.about, d.waited.Round(time.Second))
	case !d.bound:
		return succeeded("%s is not bound after %s", d.about, d.waited.Round(time.Second))
	}
	return held("%s was bound after %s", d.about, d.waited.Round(100*time.Millisecond))
}

func delays() []delay {
	return []delay{{waited: time.Minute}, {bound: true, waited: 2 * tolerable}, {bound: true, early: []string{"member"}}}
}

// amid tries something again and again until what is meant to go on has ended.
func amid(ctx context.Context, every time.Duration, attack func(context.Context, int), goesOn func() error) error {
	ctx, over := context.WithCancel(ctx)
	var attacking sync.WaitGroup
	attacking.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for i := 0; ; i++ {
			attack(ctx, i)
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	err := goesOn()
	over()
	attacking.Wait()
	return err
}

func delayAttack(by Attacker, name, tries string, do func(context.Context, *ground) (delay, error)) Attack {
	return plan[delay]{name: name, by: by, tries: tries, do: do, check: delay.judge, successes: delays()}.attack()
}

func phantoms() Attack {
	return delayAttack(
		Caller,
		"phantom-pods",
		"to keep real pods pending by asking for room for others that there are not",
		func(ctx context.Context, g *ground) (d delay, err error) {
			if _, err := g.stage(ctx, newNodes("haunted", 1, "4")); err != nil {
				return d, err
			}
			d.about = "a real pod"
			err = amid(ctx, 100*time.Millisecond, func(ctx context.Context, i int) {
				var calls sync.WaitGroup
				for j := range 12 {
					body := filterBody(ghost(fmt.Sprintf("phantom-%d-%d", i, j), "4", func(pod *corev1.Pod) {
						if j%2 == 1 {
							memberOf(fmt.Sprintf("phantoms-%d", j), 1)(pod)
						}
					}), "haunted-0")
					calls.Go(func() {
						g.post(ctx, "filter", body)
						g.post(ctx, "prioritize", body)
					})
				}
				calls.Wait()
			}, func() error {
				if err := settle(ctx); err != nil {
					return err
				}
				pods, err := g.create(ctx, newPod(othersNamespace, "real", "4"))
				if err == nil {
					d.waited, d.bound = g.awaitBound(ctx, pods["real"])
				}
				return err
			})
			return d, err
		},
	)
}

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

// hoard is the room that gangs which never start keep from others.
type hoard struct {
	delay
	most int // gangs that held room at a time
}

func (h hoard) judge() verdict {
	if h.most > maxHolding {
		return succeeded("%d gangs of a namespace held room at a time, %d may", h.most, maxHolding)
	}
	return first(h.delay.judge(), held("%d gangs held room; %s", h.most, h.delay.judge().why))
}

// hoardAttack attacks with a number of gangs of two members, a node each. Others want some of the nodes.
func hoardAttack(name, tries string, gangs, nodes, wanted int, timeout int64) Attack {
	return plan[hoard]{
		name:      name,
		by:        Tenant,
		tries:     tries,
		check:     hoard.judge,
		successes: []hoard{{most: 1}, {most: maxHolding + 1, delay: delay{bound: true}}, {delay: delay{bound: true, waited: 2 * tolerable}}},
		do: func(ctx context.Context, g *ground) (h hoard, err error) {
			if _, err := g.stage(ctx, newNodes("granary", nodes, "4")); err != nil {
				return h, err
			}
			watching, enough := context.WithCancel(ctx)
			defer enough()
			var watch sync.WaitGroup
			watch.Go(func() { h.most = g.mostHolding(watching) })
			for i := range gangs {
				name := fmt.Sprintf("hoard-%d", i)
				if err := g.createGroup(
					ctx, g.tenant.dynamic, newGroup(tenantNamespace, name, 2, asking("scheduleTimeoutSeconds", timeout)),
				); err != nil {
					return h, err
				}
				// The second one is of a scheduler that there is not: it has a place, and is never bound.
				members := []*corev1.Pod{
					newPod(tenantNamespace, name+"-0", "4", of(name)), newPod(tenantNamespace, name+"-1", "4", of(name), scheduledBy(byHand)),
				}
				if _, err := g.createAs(ctx, g.tenant, members...); err != nil {
					return h, err
				}
			}
			if err := g.awaitHolding(ctx); err != nil {
				return h, err
			}
			var others []*corev1.Pod
			for i := range wanted {
				others = append(others, newPod(othersNamespace, fmt.Sprintf("hungry-%d", i), "4"))
			}
			pods, err := g.create(ctx, others...)
			if err != nil {
				return h, err
			}
			h.about = fmt.Sprintf("what %d of %d nodes have room for", wanted, nodes)
			var created []*corev1.Pod
			for _, pod := range pods {
				created = append(created, pod)
			}
			h.waited, h.bound = g.awaitBound(ctx, created...)
			enough()
			watch.Wait()
			return h, ctx.Err()
		},
	}.attack()
}

// holding is how many gangs of the tenant have places and have not started.
func (g *ground) holding(ctx context.Context) (count int, err error) {
	gangs, err := g.gangs(ctx)
	for _, gang := range gangs {
		if gang.Placed+gang.Held > 0 && gang.Bound == 0 {
			count++
		}
	}
	return count, err
}

// mostHolding is how many did at a time, until the context ends.
func (g *ground) mostHolding(ctx context.Context) (most int) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if count, err := g.holding(ctx); err == nil {
			most = max(most, count)
		}
		select {
		case <-ctx.Done():
			return most
		case <-tick.C:
		}
	}
}

// awaitHolding returns when a gang holds room: else there is nothing to judge.
func (g *ground) awaitHolding(ctx context.Context) error {
	return eventually(ctx, "a gang holds room", func() error {
		count, err := g.holding(ctx)
		if err == nil && count == 0 {
			err = errors.New("none does")
		}
		return err
	})
}

func hoards() []Attack {
	return []Attack{
		hoardAttack("gang-that-never-starts", "to keep nodes idle for 63 years by a gang that can never be bound whole", 1, 2, 2, 2_000_000_000),
		hoardAttack(
			"many-gangs-that-never-start", "to keep all nodes idle by filling them with gangs", 4, 8, 8-2*maxHolding,
			int64(maxScheduleTimeout.Seconds()),
		),
	}
}
