package predicates

import (
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// podTopologySpread keeps pods that are alike spread over failure domains: after a pod
// was placed, no domain may have more of them than the emptiest one and the maximal skew
// (pkg/scheduler/framework/plugins/podtopologyspread/filtering.go).
type podTopologySpread struct{ spreading }

func newPodTopologySpread(profile *config.Profile) (Predicate, error) {
	hard, err := newSpreading(profile.PodTopologySpreadArgs(), corev1.DoNotSchedule)
	return podTopologySpread{hard}, err
}

func (podTopologySpread) Name() string { return config.PodTopologySpread }

func (p podTopologySpread) Aspects() cluster.Aspect { return p.aspects() }

func (p podTopologySpread) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	prepared, err := p.of(pod, snap.Objects)
	switch {
	case errors.Is(err, cluster.ErrTooManyTerms):
		return CheckFunc(func(*cluster.Node) Verdict { return spreadBeyond | hopeless })
	case err != nil:
		// kube-scheduler gives up such a pod before it looks at nodes.
		return CheckFunc(func(*cluster.Node) Verdict { return spreadMalformed | hopeless })
	case prepared == nil:
		return nil
	}
	check := &spreadCheck{spread: *prepared}
	for i := range check.constraints {
		c := &check.constraints[i]
		term := spreadTerm{constraint: c, spreadDomains: spreadDomains{key: c.topologyKey}}
		if c.selector.Matches(labels.Set(pod.Labels)) {
			term.self = 1
		}
		check.terms = append(check.terms, term)
	}
	return check
}

// spreadCheck judges the nodes by the hard constraints of a pod.
type spreadCheck struct {
	spread
	reach
	terms []spreadTerm // by constraint
}

// spreadTerm is one constraint, and what the pods are like that it is about.
type spreadTerm struct {
	constraint *spreadConstraint
	spreadDomains
	self int64 // 1 if the constraint is about the pod itself, else 0
	most int64 // pods that a domain may have, for the pod to fit there
}

// Verdict implements [Check].
func (c *spreadCheck) Verdict(node *cluster.Node) Verdict {
	for i := range c.terms {
		if verdict := c.terms[i].on(node); verdict != Fits {
			return verdict
		}
	}
	return Fits
}

// Verdicts implements [Plural].
func (c *spreadCheck) Verdicts(node *cluster.Node, visit func(Verdict)) {
	for i := range c.terms {
		if verdict := c.terms[i].on(node); verdict != Fits {
			visit(verdict)
		}
	}
}

// on returns the verdict of one constraint on a node.
func (t *spreadTerm) on(node *cluster.Node) Verdict {
	switch domain := t.now.Of(node.Index); {
	case domain < 0:
		return spreadKeyMissing | hopeless
	case int64(t.pods[domain]) > t.most:
		return spreadSkewed
	}
	return Fits
}

// Group implements [Spanning].
func (c *spreadCheck) Group(node *cluster.Node) uint64 {
	group := uint64(0)
	for i := range c.terms {
		term := &c.terms[i]
		if domain := term.now.Of(node.Index); term.now.Size(domain) == 1 {
			group = mix(group, ofAmount(term.pods[domain]))
		} else {
			group = mix(group, ofDomain(domain))
		}
	}
	return group
}

// Update implements [Digest].
func (c *spreadCheck) Update(snap *cluster.Snapshot, nodes []int32) {
	c.end = int32(snap.IndexEnd()) //nolint:gosec // a cluster has fewer than 2³¹ nodes
	for i := range c.terms {
		c.terms[i].follow(snap)
	}
	c.remember(nodes)
	for _, index := range nodes {
		c.put(index, snap.Node(index))
	}
	c.forget()
	c.settle()
}

// Suppose implements [Digest].
func (c *spreadCheck) Suppose(_ *cluster.Snapshot, node *cluster.Node) {
	c.put(node.Index, node)
	c.settle()
}

// put replaces what a node, nil if it is gone, adds to its domains. Where it takes one
// past what it may have, verdicts turn.
func (c *spreadCheck) put(index int32, node *cluster.Node) {
	counts := node != nil
	for i := range c.terms {
		counts = counts && c.terms[i].now.Of(index) >= 0
	}
	for i := range c.terms {
		term := &c.terms[i]
		share := spreadShare(0)
		if counts && c.counts(node, term.constraint) {
			share = shareOf(c.matching(node, term.constraint))
		}
		term.put(index, share, func(domain, before, after int32) {
			if (int64(before) > term.most) != (int64(after) > term.most) {
				c.turn(term.now, domain)
			}
		})
	}
}

// settle finds what domains may have now. Where that is another number than it was,
// verdicts may turn everywhere.
func (c *spreadCheck) settle() {
	for i := range c.terms {
		term := &c.terms[i]
		term.settle()
		most := int64(term.constraint.maxSkew) + int64(term.minimum(term.constraint.minDomains)) - term.self
		if most != term.most {
			term.most = most
			c.turnAll()
		}
	}
}

func (c *spreadCheck) size() int64 {
	var size int64
	for i := range c.terms {
		size += c.terms[i].size()
	}
	return size
}
