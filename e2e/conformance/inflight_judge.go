package conformance

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"muster.dev/muster/api/config"
)

// Conflict is a binding that kube-scheduler's filters are against.
type Conflict struct {
	*Binding
	KubeScheduler Answer
	// Scenario is the smallest that was found to which kube-scheduler says the same, in YAML.
	Scenario string
}

func (c *Conflict) String() string {
	return fmt.Sprintf("%v: %s to %s: kube-scheduler says %v\nafter\n%s\n%s",
		c.Mode, c.Known.Pending[0].Name, c.Node, c.KubeScheduler, c.Events, c.Scenario)
}

// Conflict holds a binding against kube-scheduler's filters, and is nil if they let it pass, or fail over another pod.
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
func (j *Judge) Conflict(ctx context.Context, b *Binding) (*Conflict, error) {
	whole, err := j.admits(ctx, b.Known, b.Node)
	if err != nil || whole.Code == fwk.Success || whole.Code == fwk.Error {
		return nil, err
	}
	refusal, of := whole, b.Known
	alone := withoutNeeds(b.Known)
	strict, err := j.admits(ctx, alone, b.Node)
	if err != nil {
		return nil, err
	}
	if strict.Code != fwk.Success {
		refusal, of = strict, alone
	} else if fitted, err := j.fitted(ctx, b); err != nil || fitted {
		return nil, err
	}
	return &Conflict{Binding: b, KubeScheduler: refusal, Scenario: smallest(of, func(s *Scenario) bool {
		if len(s.Profile.Filter) == 0 || len(s.Pending) == 0 {
			return false
		}
		answer, err := j.admits(ctx, s, b.Node)
		return err == nil && slices.Equal(answer.Reasons, refusal.Reasons) && answer.Code == refusal.Code
	})}, nil
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
