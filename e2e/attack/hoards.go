package attack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// hoard is what gangs that never start keep from others.
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

// hoardAttack is one by so many gangs of two members, a node each. Of the nodes others want some.
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
			"many-gangs-that-never-start", "to keep all nodes idle by as many gangs as there is room for", 4, 8, 8-2*maxHolding,
			int64(maxScheduleTimeout.Seconds()),
		),
	}
}
