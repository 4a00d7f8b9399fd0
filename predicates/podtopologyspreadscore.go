package predicates

import (
	"math"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// podTopologySpreadScore prefers nodes in failure domains with few pods that are alike
// (pkg/scheduler/framework/plugins/podtopologyspread/scoring.go).
type podTopologySpreadScore struct{ spreading }

func newPodTopologySpreadScore(profile *config.Profile) (Score, error) {
	soft, err := newSpreading(profile.PodTopologySpreadArgs(), corev1.ScheduleAnyway)
	return podTopologySpreadScore{soft}, err
}

func (podTopologySpreadScore) Name() string { return config.PodTopologySpread }

func (s podTopologySpreadScore) Aspects() cluster.Aspect { return s.aspects() }

func (s podTopologySpreadScore) For(pod *cluster.Pod, snap *cluster.Snapshot) Rating {
	prepared, err := s.of(pod, snap.Objects)
	if err != nil || prepared == nil {
		return Rating{} // kube-scheduler does not rate nodes for a pod with a constraint that does not parse
	}
	comparison := &spreadComparison{spread: *prepared}
	for i := range comparison.constraints {
		c := &comparison.constraints[i]
		comparison.terms = append(comparison.terms, preferredSpread{
			constraint: c, domainSum: domainSum[int16]{key: c.topologyKey},
			byNode: c.topologyKey == corev1.LabelHostname, tolerance: float64(c.maxSkew - 1), blank: -1,
		})
	}
	return Rating{Among: comparison}
}

// spreadComparison compares nodes by the soft constraints of a pod. The cost of a node is the sum over the
// constraints of the pods in its domain, each weighed by the number of domains among the compared nodes; the
// lower, the better. The sum is made of the same operations in the same order as kube-scheduler's, so that it
// is rounded alike.
type spreadComparison struct {
	spread
	terms []preferredSpread // by constraint
}

// preferredSpread is one constraint, and the pods that it is about by domain.
//
// Two things are as in kube-scheduler. A host name is no domain: each node is counted for itself, whether the
// constraint's policies leave it out or not. And where nodes without the label are compared as well, they share
// one domain with nodes whose label is empty.
type preferredSpread struct {
	constraint *spreadConstraint
	domainSum[int16]
	byNode    bool    // the sums are not kept
	tolerance float64 // of skew, added to each count
	blank     int32   // the domain of an empty label, -1 before there was one
	loose     int32   // the sum of nodes without the label

	weight float64 // of a pod; scratch
	seen   []bool  // by domain + 1; scratch
}

// leftOut marks a node that lacks a topology key in ratings that are not ready.
const leftOut = -1

// Rate implements [Comparison].
func (c *spreadComparison) Rate(nodes, sizes []int32, ratings []int64) {
	clear(ratings)
	if len(c.terms) == 0 {
		return
	}
	compared := c.leaveOut(nodes, sizes, ratings)
	for i := range c.terms {
		term := &c.terms[i]
		domains := compared
		if !term.byNode {
			domains = term.domainsAmong(nodes, sizes, ratings)
		}
		term.weight = math.Log(float64(domains + 2))
	}
	lowest, highest := c.cost(nodes, ratings)
	for i, cost := range ratings {
		switch {
		case cost == leftOut:
			ratings[i] = 0
		case highest == 0:
			ratings[i] = MaxScore
		default:
			ratings[i] = MaxScore * (highest + lowest - cost) / highest
		}
	}
}

// leaveOut marks the nodes that lack a key that they need, and counts the others.
func (c *spreadComparison) leaveOut(nodes, sizes []int32, ratings []int64) (compared int) {
	for i, index := range nodes {
		if c.everyKey && c.lacksKey(index) {
			ratings[i] = leftOut
			continue
		}
		compared += standsFor(sizes, i)
	}
	return compared
}

func (c *spreadComparison) lacksKey(index int32) bool {
	for t := range c.terms {
		if c.terms[t].now.Of(index) < 0 {
			return true
		}
	}
	return false
}

// standsFor returns how many nodes the one at a place stands for.
func standsFor(sizes []int32, at int) int {
	if sizes == nil {
		return 1
	}
	return int(sizes[at])
}

// domainsAmong returns how many domains there are among the nodes that are not left out.
func (t *preferredSpread) domainsAmong(nodes, sizes []int32, ratings []int64) int {
	t.seen = atLeast(t.seen, t.now.End()+1)
	clear(t.seen)
	domains := 0
	for i, index := range nodes {
		if ratings[i] == leftOut {
			continue
		}
		domain := t.now.Of(index)
		if domain == t.blank {
			domain = -1
		}
		if t.now.Size(domain) == 1 && domain != t.blank { // each node that it stands for is a domain
			domains += standsFor(sizes, i)
		} else if !t.seen[domain+1] {
			t.seen[domain+1] = true
			domains++
		}
	}
	return domains
}

// Group implements [Comparison].
func (c *spreadComparison) Group(index int32) uint64 {
	group := uint64(0)
	for i := range c.terms {
		group = mix(group, c.terms[i].group(index))
	}
	return group
}

// group tells nodes apart by one constraint: all nodes of a group get the same score from it.
func (t *preferredSpread) group(index int32) uint64 {
	domain := t.now.Of(index)
	switch {
	case t.byNode && domain >= 0:
		return ofAmount(int32(t.shares[index]))
	case domain >= 0 && domain != t.blank && t.now.Size(domain) == 1:
		return ofAmount(t.sums[domain])
	}
	return ofDomain(domain)
}

// cost sets ratings to the costs of the nodes, and finds the lowest and the highest.
func (c *spreadComparison) cost(nodes []int32, ratings []int64) (lowest, highest int64) {
	lowest = math.MaxInt64
	for i, index := range nodes {
		if ratings[i] == leftOut {
			continue
		}
		var cost float64
		for t := range c.terms {
			term := &c.terms[t]
			if domain := term.now.Of(index); domain >= 0 {
				cost += float64(term.count(index, domain))*term.weight + term.tolerance
			}
		}
		ratings[i] = int64(math.Round(cost))
		lowest, highest = min(lowest, ratings[i]), max(highest, ratings[i])
	}
	return lowest, highest
}

// count returns how many pods a node of a domain is held against.
func (t *preferredSpread) count(index, domain int32) int32 {
	switch {
	case t.byNode:
		return int32(t.shares[index])
	case domain == t.blank:
		return t.sums[domain] + t.loose
	}
	return t.sums[domain]
}

// Update implements [Digest].
func (c *spreadComparison) Update(snap *cluster.Snapshot, nodes []int32) {
	for i := range c.terms {
		c.terms[i].follow(snap)
	}
	c.remember(nodes)
	for _, index := range nodes {
		c.put(index, snap.Node(index))
	}
	c.forget()
	for i := range c.terms {
		c.terms[i].settle()
	}
}

// Suppose implements [Digest].
func (c *spreadComparison) Suppose(_ *cluster.Snapshot, node *cluster.Node) { c.put(node.Index, node) }

// put replaces what a node, nil if it is gone, adds to its domains.
func (c *spreadComparison) put(index int32, node *cluster.Node) {
	counts := node != nil
	for i := range c.terms {
		counts = counts && (!c.everyKey || c.terms[i].now.Of(index) >= 0)
	}
	for i := range c.terms {
		term := &c.terms[i]
		share := int16(0)
		if counts && (term.byNode || c.counts(node, term.constraint)) {
			share = c.matching(node, term.constraint)
		}
		term.put(index, share)
		if node != nil && !c.everyKey {
			if value, labelled := node.Labels[term.key]; labelled && value == "" {
				term.blank = term.now.Of(index)
			}
		}
	}
}

func (t *preferredSpread) follow(snap *cluster.Snapshot) {
	if !t.byNode {
		t.domainSum.follow(snap)
		return
	}
	t.now = snap.Domains(t.key)
	t.shares = atLeast(t.shares, snap.IndexEnd())
}

func (t *preferredSpread) put(index int32, share int16) {
	if t.byNode {
		t.shares[index] = share
		return
	}
	if t.was.Of(index) < 0 {
		t.loose -= int32(t.shares[index])
	}
	if t.now.Of(index) < 0 {
		t.loose += int32(share)
	}
	t.domainSum.put(index, share, nil)
}

func (c *spreadComparison) size() int64 {
	var size int64
	for i := range c.terms {
		size += c.terms[i].size() + int64(cap(c.terms[i].seen))
	}
	return size
}
