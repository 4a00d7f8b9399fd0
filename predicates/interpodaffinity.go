package predicates

import (
	"errors"
	"iter"
	"slices"
	"unsafe"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// interPodAffinity keeps pods near the pods that their required affinity names. It keeps them away from pods
// that their required anti-affinity names, and from pods whose anti-affinity names them
// (pkg/scheduler/framework/plugins/interpodaffinity).
type interPodAffinity struct{}

func newInterPodAffinity(*config.Profile) (Predicate, error) { return interPodAffinity{}, nil }

func (interPodAffinity) Name() string { return config.InterPodAffinity }

// Aspects are the labels and namespaces of pods, and the labels of nodes that make
// failure domains.
func (interPodAffinity) Aspects() cluster.Aspect {
	return cluster.AspectLabels | cluster.AspectPods | cluster.AspectNamespace
}

// For returns a check even for a pod without terms: there may be pods, or come some,
// whose anti-affinity is about it.
func (interPodAffinity) For(pod *cluster.Pod, snap *cluster.Snapshot) Check {
	var terms cluster.Affinity
	if pod.Affinity != nil {
		terms = *pod.Affinity
	}
	switch {
	case errors.Is(terms.Err, cluster.ErrTooManyTerms):
		return CheckFunc(func(*cluster.Node) Verdict { return podAffinityBeyond | hopeless })
	case terms.Err != nil:
		return CheckFunc(func(*cluster.Node) Verdict { return podAffinityMalformed | hopeless })
	}
	c := &podAffinityCheck{affinitySubject: newAffinitySubject(pod, snap.Objects, requiredTerms(&terms))}
	c.wanted, c.unwanted = c.terms[:len(terms.Required)], c.terms[len(terms.Required):]
	c.wantsItself = c.wants(func(t *ownTerm) bool { return t.isAbout(pod) })
	for i := range c.wanted {
		c.near.of(c.wanted[i].TopologyKey, snap)
	}
	for i := range c.unwanted {
		c.against.of(c.unwanted[i].TopologyKey, snap)
	}
	return c
}

// requiredTerms returns the terms of the required affinity, then the terms of the required anti-affinity.
func requiredTerms(a *cluster.Affinity) []*cluster.AffinityTerm {
	terms := make([]*cluster.AffinityTerm, 0, len(a.Required)+len(a.RequiredAnti))
	for _, list := range [][]cluster.AffinityTerm{a.Required, a.RequiredAnti} {
		for i := range list {
			terms = append(terms, &list[i])
		}
	}
	return terms
}

// podAffinityCheck is interPodAffinity for a pod. It counts nothing: one pod in a domain is as good, or as bad,
// as several.
type podAffinityCheck struct {
	affinitySubject
	reach

	wanted      []ownTerm // of the required affinity
	unwanted    []ownTerm // of the required anti-affinity
	wantsItself bool      // the pod is such as it wants to be near to

	near     presences // pods that all wanted terms match
	against  presences // pods that an unwanted term of the key matches
	opposing presences // pods that have an unwanted term of the key which matches this one
}

func (c *podAffinityCheck) Verdict(node *cluster.Node) Verdict {
	switch {
	case !c.isNear(node.Index):
		return podAffinityUnmet | hopeless
	case c.against.at(node.Index):
		return podAntiAffinityUnmet
	case c.opposing.at(node.Index):
		return existingAntiAffinityUnmet
	}
	return Fits
}

// Verdicts implements [Plural].
func (c *podAffinityCheck) Verdicts(node *cluster.Node, visit func(Verdict)) {
	if !c.isNear(node.Index) {
		visit(podAffinityUnmet | hopeless)
	}
	if c.against.at(node.Index) {
		visit(podAntiAffinityUnmet)
	}
	if c.opposing.at(node.Index) {
		visit(existingAntiAffinityUnmet)
	}
}

// isNear reports whether the required affinity is met. The first of a group of pods that want
// to be near each other may go to any node that has all topology keys.
func (c *podAffinityCheck) isNear(index int32) bool {
	met := true
	for _, p := range c.near {
		domain, present := p.at(index)
		if domain < 0 {
			return false
		}
		met = met && present
	}
	return met || c.isFirst()
}

// isFirst reports whether the pod would be the first of its group.
func (c *podAffinityCheck) isFirst() bool {
	return c.wantsItself && !slices.ContainsFunc(c.near, func(p *presence) bool { return p.present > 0 })
}

// wants reports whether the required affinity is about a pod: all its terms are.
func (c *podAffinityCheck) wants(isAbout func(*ownTerm) bool) bool {
	for i := range c.wanted {
		if !isAbout(&c.wanted[i]) {
			return false
		}
	}
	return len(c.wanted) > 0
}

// Group implements [Spanning].
func (c *podAffinityCheck) Group(node *cluster.Node) uint64 {
	group := uint64(0)
	for p := range c.presences() {
		if domain, present := p.at(node.Index); p.now.Size(domain) == 1 {
			group = mix(group, ofTruth(present))
		} else {
			group = mix(group, ofDomain(domain))
		}
	}
	return group
}

// kinds implements [regrouping].
func (c *podAffinityCheck) kinds() int { return len(c.opposing) }

func (c *podAffinityCheck) minds(pod *cluster.Pod) bool {
	if c.wants(func(t *ownTerm) bool { return t.isAbout(pod) }) {
		return true
	}
	if slices.ContainsFunc(c.unwanted, func(t ownTerm) bool { return t.isAbout(pod) }) {
		return true
	}
	return pod.Affinity != nil && slices.ContainsFunc(pod.Affinity.RequiredAnti, func(t cluster.AffinityTerm) bool { return c.matchedBy(&t) })
}

// begins implements [sparse].
func (c *podAffinityCheck) begins(snap *cluster.Snapshot) ([]int32, bool) { return c.matter(snap) }

// Update implements [Digest].
func (c *podAffinityCheck) Update(snap *cluster.Snapshot, nodes []int32) {
	wasFirst := c.isFirst()
	for p := range c.presences() {
		p.follow(snap)
	}
	c.remember(nodes)
	for _, index := range nodes {
		c.put(index, snap.Node(index), snap)
	}
	c.forget()
	c.settle(wasFirst)
	c.end = int32(snap.IndexEnd()) //nolint:gosec // a cluster has fewer than 2³¹ nodes
}

// Suppose implements [Digest].
func (c *podAffinityCheck) Suppose(snap *cluster.Snapshot, node *cluster.Node) {
	wasFirst := c.isFirst()
	c.put(node.Index, node, snap)
	c.settle(wasFirst)
}

// put takes in the pods of a node, which is nil when it is gone.
func (c *podAffinityCheck) put(index int32, node *cluster.Node, snap *cluster.Snapshot) {
	if node != nil {
		c.findNear(node)
		c.findAgainst(node)
		c.findOpposing(node, snap)
	}
	for p := range c.presences() {
		p.put(index, &c.reach)
	}
}

func (c *podAffinityCheck) findNear(node *cluster.Node) {
	if len(c.wanted) == 0 {
		return
	}
	for place := range node.Pods {
		if c.wants(func(t *ownTerm) bool { return t.matches(node, place) }) {
			for _, p := range c.near {
				p.found = true
			}
			return
		}
	}
}

func (c *podAffinityCheck) findAgainst(node *cluster.Node) {
	for i := range c.unwanted {
		t := &c.unwanted[i]
		p := c.against.of(t.TopologyKey, nil)
		p.found = p.found || t.matchesAny(node)
	}
}

func (c *podAffinityCheck) findOpposing(node *cluster.Node, snap *cluster.Snapshot) {
	for _, pod := range node.Affine {
		for i := range pod.Affinity.RequiredAnti {
			t := &pod.Affinity.RequiredAnti[i]
			if _, carried := node.Labels[t.TopologyKey]; !carried || !c.matchedBy(t) {
				continue // a node without the label is in no domain: there is nothing to keep of the key
			}
			if p := c.opposing.of(t.TopologyKey, snap); p != nil {
				p.found = true
			}
		}
	}
}

// settle ends an update or a supposition, before which the pod was first or not.
func (c *podAffinityCheck) settle(wasFirst bool) {
	for p := range c.presences() {
		p.settle(&c.reach)
	}
	if c.isFirst() != wasFirst {
		c.turnAll()
	}
}

// presences yields the presences of all three kinds of terms.
func (c *podAffinityCheck) presences() iter.Seq[*presence] {
	return func(yield func(*presence) bool) {
		for _, kind := range [...]presences{c.near, c.against, c.opposing} {
			for _, p := range kind {
				if !yield(p) {
					return
				}
			}
		}
	}
}

func (c *podAffinityCheck) size() int64 {
	size := int64(unsafe.Sizeof(*c)) + c.affinitySubject.size()
	for p := range c.presences() {
		size += p.size()
	}
	return size
}
