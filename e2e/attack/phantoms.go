package attack

import (
	"context"
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
