package attack

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// eviction is what became of running pods, and of the plans of muster, after somebody asked for room.
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

// evictionOf is what has become of pods after calls that were answered.
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
