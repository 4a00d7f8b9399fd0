package attack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// memory is what is live in muster, in bytes, before an attack and when all of it is gone.
type memory struct{ before, after int64 }

// kept is how much may stay: noise, far below what the attacks send.
const kept = 16 << 20

func (m memory) judge() verdict {
	if grown := m.after - m.before; grown > kept {
		return succeeded("%d MiB stay in memory", grown>>20)
	}
	return held("%.1f MiB were live before, %.1f MiB are after", float64(m.before)/(1<<20), float64(m.after)/(1<<20))
}

// live is how much memory of muster's heap is in use once what nobody uses is collected: the least that is
// seen while it is kept busy.
func (g *ground) live(ctx context.Context, enough int64) (least int64, err error) {
	const rounds = 200 // each of which leaves some garbage to collect
	garbage := `{"metadata": {"name": "garbage"}, "spec": {"containers": [` + strings.TrimSuffix(
		strings.Repeat(`{"name": "c"},`, 2000), ",",
	) + `]}}`
	for range rounds {
		page, err := g.muster.Page(ctx, "/metrics")
		if err != nil {
			return 0, err
		}
		_, rest, found := strings.Cut(page, "\ngo_memstats_heap_alloc_bytes ")
		var bytes float64
		if _, err := fmt.Sscan(rest, &bytes); err != nil || !found {
			return 0, errors.New("/metrics has no go_memstats_heap_alloc_bytes")
		}
		if least == 0 || int64(bytes) < least {
			least = int64(bytes)
		}
		if least <= enough {
			break
		}
		g.post(ctx, "filter", fmt.Appendf(nil, filterOf, garbage))
	}
	return least, ctx.Err()
}

func memoryAttack(by Attacker, name, tries string, do func(context.Context, *ground) error) Attack {
	return plan[memory]{
		name: name, by: by, tries: tries, check: memory.judge, successes: []memory{{before: 20 << 20, after: 60 << 20}},
		do: func(ctx context.Context, g *ground) (m memory, err error) {
			if m.before, err = g.live(ctx, 0); err != nil {
				return m, err
			}
			if err := do(ctx, g); err != nil {
				return m, err
			}
			m.after, err = g.live(ctx, m.before+kept/2)
			return m, err
		},
	}.attack()
}

// word is a name that was never seen, as long as one may be.
func word(kind string, i, j int) string {
	return strings.Repeat(kind, 50)[:50] + fmt.Sprintf("-%d-%d.example.com/x", i, j)
}

// babble asks for things with names that were never seen.
func babble(i, names int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.NodeSelector = map[string]string{}
		requests, limits := pod.Spec.Containers[0].Resources.Requests, corev1.ResourceList{}
		pod.Spec.Containers[0].Resources.Limits = limits
		for j := range names {
			requests[corev1.ResourceName(word("resource", i, j))] = resource.MustParse("1")
			limits[corev1.ResourceName(word("resource", i, j))] = resource.MustParse("1")
			pod.Labels[word("label", i, j)] = "x"
			pod.Spec.NodeSelector[word("selector", i, j)] = "x"
			pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: word("topology", i, j), WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{word("label", i, j): "x"}},
			})
		}
	}
}

func postedVocabulary() Attack {
	return memoryAttack(
		Caller,
		"posted-vocabulary",
		"to fill muster's memory for good by names of resources, labels and topologies that were never seen",
		func(ctx context.Context, g *ground) error {
			if _, err := g.stage(ctx, newNodes("reader", 1, "4")); err != nil {
				return err
			}
			var posting sync.WaitGroup
			for worker := range 4 {
				posting.Go(func() {
					for i := range 250 {
						pod := ghost("babbler", "1", babble(worker*1000+i, 80))
						pod.UID = "" // that nobody waits for
						body := filterBody(pod, "reader-0", word("node", worker, i))
						g.post(ctx, "filter", body)
						if i%5 == 0 {
							g.post(ctx, "prioritize", body)
							g.post(ctx, "preempt", preemptBody(pod, map[string][]string{word("node", worker, i): {word("uid", worker, i)}}))
						}
					}
				})
			}
			posting.Wait()
			return ctx.Err()
		},
	)
}

func createdVocabulary() Attack {
	return memoryAttack(
		Tenant,
		"created-vocabulary",
		"to fill muster's memory for good by pods with names of resources, labels and topologies that were never seen",
		func(ctx context.Context, g *ground) error {
			if _, err := g.stage(ctx, newNodes("reader", 2, "4")); err != nil {
				return err
			}
			var pods []*corev1.Pod
			for i := range 200 {
				pods = append(pods, newPod(tenantNamespace, fmt.Sprintf("babbler-%d", i), "1m", babble(i, 80)))
			}
			for _, pod := range pods {
				if _, err := g.tenant.client.CoreV1().Pods(tenantNamespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
					return fmt.Errorf("create a pod as the tenant: %w", err)
				}
			}
			if err := g.awaitSeen(ctx, pods[len(pods)-1]); err != nil {
				return err
			}
			if err := settle(ctx); err != nil { // kube-scheduler asks about them
				return err
			}
			return g.clear(ctx)
		},
	)
}
