package attack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// eviction is the fate of running pods, and of the plans of muster, after somebody asked for room.
type eviction struct {
	evicted []string // pods that ran
	told    []string // UIDs of theirs that were told
	planned []string // gangs that muster follows
	room    string   // of whom nobody knows, that is kept
}

func (e eviction) judge() verdict {
	switch {
	case len(e.evicted) > 0:
		return succeeded("pods were evicted: %v", e.evicted)
	case len(e.told) > 0:
		return succeeded("victims were told: %v", e.told)
	case len(e.planned) > 0:
		return succeeded("gangs are planned: %v", e.planned)
	case e.room != "":
		return succeeded("room is kept: %s", e.room)
	}
	return held("nobody was evicted, nothing is planned")
}

func evictions() []eviction {
	return []eviction{{evicted: []string{"victim"}}, {told: []string{"uid"}}, {planned: []string{"others/ghosts"}}, {room: "4 CPUs"}}
}

// ghost is a pod that there is not, of the highest priority.
func ghost(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	return newPod(othersNamespace, name, cpu, append([]func(*corev1.Pod){func(pod *corev1.Pod) {
		pod.UID = types.UID("00000000-0000-4000-8000-" + fmt.Sprintf("%012x", len(name)) + name)
		pod.Spec.Priority, pod.Spec.SchedulerName = new(int32(math.MaxInt32)), corev1.DefaultSchedulerName
	}}, change...)...)
}

func forgedPreemption() plan[eviction] {
	return plan[eviction]{
		name: "preempt-for-ghosts", by: Caller,
		tries: "to have running pods evicted for a gang of ten, of the highest priority, that there is not",
		do: func(ctx context.Context, g *ground) (e eviction, err error) {
			victims := []*corev1.Pod{newPod(othersNamespace, "victim-a", "2", on("prey-0")), newPod(othersNamespace, "victim-b", "2", on("prey-0"))}
			pods, err := g.stage(ctx, newNodes("prey", 1, "4"), victims...)
			if err != nil {
				return e, err
			}
			var calls sync.WaitGroup
			for i := range 9 {
				calls.Go(func() {
					g.post(ctx, "filter", filterBody(ghost(fmt.Sprintf("ghost-%d", i), "4", memberOf("ghosts", 10)), "prey-0"))
				})
			}
			calls.Wait()
			last := ghost("ghost-9", "4", memberOf("ghosts", 10))
			answers := []answer{
				g.post(ctx, "filter", filterBody(last, "prey-0")),
				g.post(ctx, "preempt", preemptBody(last, map[string][]string{"prey-0": {"made-up"}})),
				g.post(ctx, "preempt", preemptBody(ghost("lonely", "4"), map[string][]string{"prey-0": {"made-up"}})),
			}
			return g.evictionOf(ctx, answers, pods["victim-a"], pods["victim-b"])
		},
		check: eviction.judge, successes: evictions(),
	}
}

func forgedPriority() plan[eviction] {
	return plan[eviction]{
		name: "preempt-by-a-forged-priority", by: Caller,
		tries: "to have running pods evicted for a real pod, by posting it with the highest priority",
		do: func(ctx context.Context, g *ground) (e eviction, err error) {
			waiting := newPod(othersNamespace, "waiting", "4", scheduledBy(byHand))
			member := newPod(othersNamespace, "member", "4", scheduledBy(byHand), memberOf("urgent", 1))
			pods, err := g.stage(ctx, newNodes("prey", 1, "4"), newPod(othersNamespace, "victim", "4", on("prey-0")), waiting, member)
			if err != nil {
				return e, err
			}
			var answers []answer
			for _, name := range []string{"waiting", "member"} {
				forged := pods[name].DeepCopy()
				forged.Spec.Priority, forged.Labels = new(int32(math.MaxInt32)), nil
				answers = append(answers, g.post(ctx, "filter", filterBody(forged, "prey-0")),
					g.post(ctx, "preempt", preemptBody(forged, map[string][]string{"prey-0": {"made-up"}})))
			}
			e, err = g.evictionOf(ctx, answers, pods["victim"])
			e.planned = nil // the gang of the member is followed
			return e, err
		},
		check: eviction.judge, successes: evictions(),
	}
}

// evictionOf returns the fate of pods after calls that were answered.
func (g *ground) evictionOf(ctx context.Context, answers []answer, pods ...*corev1.Pod) (e eviction, err error) {
	for _, got := range answers {
		if got.status == 0 {
			return e, fmt.Errorf("a call was not answered: %s", got)
		}
		for _, pod := range pods {
			if strings.Contains(got.text, string(pod.UID)) {
				e.told = append(e.told, string(pod.UID))
			}
		}
	}
	if err := settle(ctx); err != nil {
		return e, err
	}
	for _, pod := range pods {
		_, gone, err := g.nodeOf(ctx, pod)
		if err != nil {
			return e, err
		}
		if gone {
			e.evicted = append(e.evicted, pod.Name)
		}
	}
	gangs, err := g.gangs(ctx)
	for name := range gangs {
		e.planned = append(e.planned, name)
	}
	return e, err
}

// memory is the live memory of muster, in bytes, before an attack and when all of it is gone.
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
	const rounds = 200 // each leaves some garbage to collect
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
