package attack

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// overfull has the outcome of sums that no int64 holds.
type overfull struct {
	offered []string // nodes that are given away though they are taken
	started []string // members that are bound though there is too little
}

func (o overfull) judge() verdict {
	if len(o.offered)+len(o.started) > 0 {
		return succeeded("nodes %q are offered and members %q are bound", o.offered, o.started)
	}
	return held("no sum wraps")
}

// sumAttacks write amounts whose sums are over int64.
func sumAttacks() []Attack {
	sum := func(name, tries string, do func(context.Context, *ground) (overfull, error)) Attack {
		return plan[overfull]{
			name: name, by: Tenant, tries: tries, do: do, check: overfull.judge,
			successes: []overfull{{offered: []string{"node"}}, {started: []string{"pod"}}},
		}.attack()
	}
	return []Attack{
		sum("requests-over-int64", "to have a full node look empty, by requests whose sum wraps", requestsOverInt64),
		sum("min-resources-over-int64", "to have a gang start for which there is too little, by minResources that wrap", minResourcesOverInt64),
	}
}

func requestsOverInt64(ctx context.Context, g *ground) (o overfull, err error) {
	const node = "taken-0"
	if _, err := g.stage(ctx, newNodes("taken", 1, "4")); err != nil {
		return o, err
	}
	for i := range 4 { // their sum is 2^64, which is 0 in an int64
		vast := newPod(tenantNamespace, fmt.Sprint("vast-", i), "1m", on(node), requesting("memory", "4Ei"))
		if _, err := g.createAs(ctx, g.tenant, vast); err != nil {
			return o, err
		}
	}
	offers, err := g.offers(ctx, newPod(othersNamespace, "modest", "1", scheduledBy(byHand), requesting("memory", "1Gi")), node)
	if offers[node] {
		o.offered = append(o.offered, node)
	}
	return o, err
}

func minResourcesOverInt64(ctx context.Context, g *ground) (o overfull, err error) {
	if _, err := g.stage(ctx, newNodes("small", 2, "4")); err != nil {
		return o, err
	}
	group := newGroup(tenantNamespace, "vast", 2, asking("minResources", map[string]any{"cpu": "10P", "memory": "16E"}))
	if err := g.createGroup(ctx, g.tenant.dynamic, group); err != nil {
		return o, err
	}
	members, err := g.createAs(ctx, g.tenant,
		newPod(tenantNamespace, "vast-0", "1", of("vast")), newPod(tenantNamespace, "vast-1", "1", of("vast")))
	if err != nil {
		return o, err
	}
	if err := settle(ctx); err != nil {
		return o, err
	}
	o.started, err = g.bound(ctx, members...)
	return o, err
}

func requesting(name corev1.ResourceName, amount string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(amount) }
}
