package conformance

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"muster.dev/muster/api/config"
)

// HearBinding holds a binding against kube-scheduler's filters. They agree if they let it pass, or fail over another pod.
//
// The cluster is as muster could know it when the binding was made: as its watch had shown it, and with every
// binding of its own. What the API server had besides, muster could not know.
//
// Most filters refuse a pod for others that are there, and none for one that is not. These must let the pod pass.
// Three filters may ask for others to be there: InterPodAffinity by affinity, PodTopologySpread, for which a pod in
// another domain makes room in this one, and NodeVolumeLimits, for which a volume that is there already counts nothing.
// For them the pod counts of which muster has decided, as in kube-scheduler's own
// cache, though it may come to nothing; and if muster has picked the node when filter was called, that moment
// counts, unless the watch has shown more since than that pods wait, have come where they counted, or have gone.
func (j *Judge) HearBinding(ctx context.Context, b *Binding) error {
	j.Cases++
	whole, err := j.admits(ctx, b.Known, b.Node)
	if err != nil || whole.Code == fwk.Success || whole.Code == fwk.Error {
		return err
	}
	refusal, of := whole, b.Known
	alone := withoutNeeds(b.Known)
	strict, err := j.admits(ctx, alone, b.Node)
	if err != nil {
		return err
	}
	if strict.Code != fwk.Success {
		refusal, of = strict, alone
	} else if fitted, err := j.fitted(ctx, b); err != nil || fitted {
		return err
	}
	d := &Disagreement{
		About: fmt.Sprintf("a binding of %v", b.Mode), Node: b.Node, KubeScheduler: refusal.String(),
		Muster: fmt.Sprintf("%s is bound, after\n%s", b.Known.Pending[0].Name, b.Events),
	}
	j.disagree(d, of, func(s *Scenario) *Disagreement {
		if len(s.Profile.Filter) == 0 || len(s.Pending) == 0 {
			return nil
		}
		if answer, err := j.admits(ctx, s, b.Node); err != nil || answer.Code != refusal.Code || !slices.Equal(answer.Reasons, refusal.Reasons) {
			return nil
		}
		return d
	})
	return nil
}

// fitted reports whether the pod of a binding fitted with all that counted, now or when its node was picked.
func (j *Judge) fitted(ctx context.Context, b *Binding) (bool, error) {
	for _, moment := range []*Scenario{b.Counted, b.Picked} {
		if moment == nil {
			continue
		}
		if answer, err := j.admits(ctx, moment, b.Node); err != nil || answer.Code == fwk.Success {
			return true, err
		}
	}
	return false, nil
}

// withoutNeeds is the scenario without what its pod needs others to be there for.
func withoutNeeds(s *Scenario) *Scenario {
	alone := *s
	alone.Profile.Filter = slices.DeleteFunc(slices.Clone(s.Profile.Filter), func(name string) bool {
		return name == config.PodTopologySpread || name == config.NodeVolumeLimits
	})
	pod := s.Pending[0].DeepCopy()
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.PodAffinity != nil {
		pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	}
	alone.Pending = []*corev1.Pod{pod}
	return &alone
}

// admits asks kube-scheduler's filters about the pending pod of a scenario on one of its nodes.
func (j *Judge) admits(ctx context.Context, s *Scenario, node string) (Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	at := slices.IndexFunc(s.Nodes, func(n *corev1.Node) bool { return n.Name == node })
	if at < 0 {
		return Answer{Code: fwk.UnschedulableAndUnresolvable, Reasons: []string{"the node is gone"}}, nil
	}
	view, err := j.theirs.look(s)
	if err != nil {
		return Answer{}, err
	}
	view.nodes = view.nodes[at : at+1]
	filters, err := view.framework(ctx, s.Profile, s.Profile.filterSet())
	if err != nil {
		return Answer{}, err
	}
	answer := make([]Answer, 1)
	view.filter(ctx, filters, s.Profile, s.Pending[0], answer)
	return answer[0], nil
}
