package attack

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// binding is the outcome of requests to bind pods, with the number that may be bound.
type binding struct {
	may   int
	bound []string
	told  []string // what no answer may say
	well  int      // answers that say that a pod is bound
	asked int
}

func (b binding) judge() verdict {
	switch {
	case len(b.bound) > b.may:
		return succeeded("%v are bound, and %d may be", b.bound, b.may)
	case b.well > b.may:
		return succeeded("%d of %d requests were answered as if the pod were bound", b.well, b.asked)
	case len(b.told) > 0:
		return succeeded("it was told: %s", b.told[0])
	}
	return held("%d requests bound %d pods, no more than may be", b.asked, len(b.bound))
}

func wrongBindings() []binding {
	return []binding{{bound: []string{"pod"}}, {may: 1, bound: []string{"a", "b"}}, {told: []string{"a UID"}}, {well: 1, asked: 1}}
}

// note notes an answer to a request to bind a pod.
func (b *binding) note(got answer, secrets ...types.UID) error {
	b.asked++
	var result extenderv1.ExtenderBindingResult
	if got.status == 0 {
		return fmt.Errorf("bind was not answered: %s", got)
	}
	if got.status == 200 && json.Unmarshal([]byte(got.text), &result) == nil && result.Error == "" {
		b.well++
	}
	for _, secret := range secrets {
		if strings.Contains(got.text, string(secret)) {
			b.told = append(b.told, got.String())
		}
	}
	return nil
}

// bindAttack asks to bind pods that may not be bound.
func bindAttack(name, tries string, do func(ctx context.Context, g *ground, b *binding) ([]*corev1.Pod, error)) Attack {
	return bindAttackThatMay(0, name, tries, do)
}

func bindAttackThatMay(may int, name, tries string, do func(ctx context.Context, g *ground, b *binding) ([]*corev1.Pod, error)) Attack {
	return plan[binding]{
		name: name, by: Caller, tries: tries, check: binding.judge, successes: wrongBindings(),
		do: func(ctx context.Context, g *ground) (b binding, err error) {
			b.may = may
			pods, err := do(ctx, g, &b)
			if err == nil {
				b.bound, err = g.bound(ctx, pods...)
			}
			return b, err
		},
	}.attack()
}

func bindAttacks() []Attack {
	return []Attack{
		bindAttack(
			"bind-of-another-scheduler",
			"to bind a pod that another scheduler places",
			func(ctx context.Context, g *ground, b *binding) ([]*corev1.Pod, error) {
				pods, err := g.stage(ctx, newNodes("wide", 1, "4"), newPod(othersNamespace, "stranger", "1", scheduledBy("somebody-else")))
				if err != nil {
					return nil, err
				}
				pretending := pods["stranger"].DeepCopy()
				pretending.Spec.SchedulerName = byHand
				for _, pod := range []*corev1.Pod{pods["stranger"], pretending} {
					g.post(ctx, "filter", filterBody(pod, "wide-0"))
					if err := b.note(g.bind(ctx, pod, pod.UID, "wide-0")); err != nil {
						return nil, err
					}
				}
				return []*corev1.Pod{pods["stranger"]}, nil
			},
		),
		bindAttack(
			"bind-unasked",
			"to bind a pod about which nobody has asked filter",
			func(ctx context.Context, g *ground, b *binding) ([]*corev1.Pod, error) {
				pods, err := g.stage(ctx, newNodes("wide", 1, "4"), newPod(othersNamespace, "unasked", "1", scheduledBy(byHand)))
				if err != nil {
					return nil, err
				}
				return []*corev1.Pod{pods["unasked"]}, b.note(g.bind(ctx, pods["unasked"], pods["unasked"].UID, "wide-0"))
			},
		),
		bindAttack(
			"bind-elsewhere", "to bind pods to nodes that filter has not offered: for its selector, a taint, or as nobody has asked", bindElsewhere,
		),
		bindAttackThatMay(
			1, "bind-twice-the-room", "to bind two pods at a time where one fits, which filter has offered the same node", bindTwice,
		),
		bindAttack(
			"bind-by-another-uid",
			"to bind a pod by its name alone, or to learn its UID",
			func(ctx context.Context, g *ground, b *binding) ([]*corev1.Pod, error) {
				pods, err := g.stage(ctx, newNodes("wide", 1, "4"), newPod(othersNamespace, "named", "1", scheduledBy(byHand)))
				if err != nil {
					return nil, err
				}
				pod := pods["named"]
				if err := g.offered(ctx, pod, "wide-0"); err != nil {
					return nil, err
				}
				for _, uid := range []types.UID{"", "made-up", "00000000-0000-0000-0000-000000000000"} {
					if err := b.note(g.bind(ctx, pod, uid, "wide-0"), pod.UID); err != nil {
						return nil, err
					}
				}
				another := newPod(othersNamespace, "other", "1")
				return []*corev1.Pod{pod}, b.note(g.bind(ctx, another, pod.UID, "wide-0"))
			},
		),
		bindAttack(
			"bind-a-namesake", "to bind a pod that was created again by what was offered for the one of its name before, and to learn its UID",
			bindNamesakes,
		),
	}
}

func bindElsewhere(ctx context.Context, g *ground, b *binding) ([]*corev1.Pod, error) {
	nodes := []*corev1.Node{
		newNode("offered", "4", func(node *corev1.Node) { node.Labels = map[string]string{"pool": "a"} }), newNode("plain", "4"),
		newNode("tainted", "4", func(node *corev1.Node) {
			node.Spec.Taints = []corev1.Taint{{Key: "pool", Value: "others", Effect: corev1.TaintEffectNoSchedule}}
		}),
	}
	picky := newPod(
		othersNamespace, "picky", "1", scheduledBy(byHand), func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{"pool": "a"} },
	)
	pods, err := g.stage(
		ctx, nodes, picky, newPod(othersNamespace, "plain", "1", scheduledBy(byHand)),
		newPod(othersNamespace, "narrow", "1", scheduledBy(byHand)),
	)
	if err != nil {
		return nil, err
	}
	for _, try := range []struct {
		pod   string
		asked []string
		node  string
	}{
		{"picky", []string{"offered", "plain", "tainted"}, "plain"},
		{"plain", []string{"offered", "plain", "tainted"}, "tainted"},
		{"plain", []string{"offered", "plain", "tainted"}, "made-up"},
		{"narrow", []string{"offered"}, "plain"}, // which it fits
	} {
		if _, err := g.offers(ctx, pods[try.pod], try.asked...); err != nil {
			return nil, err
		}
		if err := b.note(g.bind(ctx, pods[try.pod], pods[try.pod].UID, try.node)); err != nil {
			return nil, err
		}
	}
	return []*corev1.Pod{pods["picky"], pods["plain"], pods["narrow"]}, nil
}

func bindTwice(ctx context.Context, g *ground, b *binding) ([]*corev1.Pod, error) {
	pods, err := g.stage(
		ctx, newNodes("tight", 1, "4"), newPod(othersNamespace, "one", "3", scheduledBy(byHand)),
		newPod(othersNamespace, "two", "3", scheduledBy(byHand)),
	)
	if err != nil {
		return nil, err
	}
	both := []*corev1.Pod{pods["one"], pods["two"]}
	for _, pod := range both {
		if err := g.offered(ctx, pod, "tight-0"); err != nil {
			return nil, err
		}
	}
	answers := make([]answer, 8)
	var calls sync.WaitGroup
	for i := range answers {
		pod := both[i%2]
		calls.Go(func() { answers[i] = g.bind(ctx, pod, pod.UID, "tight-0") })
	}
	calls.Wait()
	// That a pod is on that node already is a success however often it is asked.
	well := map[int]bool{}
	for i, got := range answers {
		before := b.well
		if err := b.note(got); err != nil {
			return nil, err
		}
		well[i%2] = well[i%2] || b.well > before
		b.well = before
	}
	for _, is := range well {
		if is {
			b.well++
		}
	}
	return both, nil
}

// bindNamesakes replays calls about pods that are created again. For some of them, muster hears of the pods no earlier
// than of the calls.
func bindNamesakes(ctx context.Context, g *ground, b *binding) (namesakes []*corev1.Pod, err error) {
	const rounds = 12
	if _, err := g.stage(ctx, newNodes("wide", 1, "40")); err != nil {
		return nil, err
	}
	for i := range rounds {
		pod := newPod(othersNamespace, fmt.Sprintf("twin-%d", i), "1", scheduledBy(byHand))
		before, err := g.create(ctx, pod)
		if err != nil {
			return nil, err
		}
		if err := g.offered(ctx, before[pod.Name], "wide-0"); err != nil {
			return nil, err
		}
		namesake, answers, err := g.replay(ctx, before[pod.Name], i > 0)
		if err != nil {
			return nil, err
		}
		for _, got := range answers {
			if err := b.note(got, namesake.UID); err != nil {
				return nil, err
			}
		}
		namesakes = append(namesakes, namesake)
	}
	return namesakes, nil
}

// replay creates a pod again and asks to bind it as the one before, while muster sees neither if it is late.
func (g *ground) replay(ctx context.Context, pod *corev1.Pod, late bool) (namesake *corev1.Pod, answers []answer, err error) {
	resume := func() error { return nil }
	if late {
		if err := g.muster.Pause(); err != nil {
			return nil, nil, err
		}
		resume = g.muster.Resume
	}
	pods, now := g.client.CoreV1().Pods(pod.Namespace), metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	if err = pods.Delete(ctx, pod.Name, now); err == nil {
		namesake, err = pods.Create(ctx, newPod(pod.Namespace, pod.Name, "1", scheduledBy(byHand)), metav1.CreateOptions{})
	}
	if err != nil {
		_ = resume()
		return nil, nil, err
	}
	const replays = 4
	answers = make([]answer, replays+1)
	var calls sync.WaitGroup
	for i := range replays {
		calls.Go(func() { answers[i] = g.bind(ctx, pod, pod.UID, "wide-0") })
	}
	err = resume()
	calls.Wait()
	answers[replays] = g.bind(ctx, namesake, namesake.UID, "wide-0")
	return namesake, answers, err
}
