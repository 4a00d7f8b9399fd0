package predicates

import (
	"slices"
	"unsafe"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// interPodAffinityScore prefers nodes near pods that the preferred affinity of the pod names, or whose
// preferred affinity names the pod. It prefers nodes away from pods where preferred anti-affinity names one or
// the other (pkg/scheduler/framework/plugins/interpodaffinity/scoring.go).
type interPodAffinityScore struct {
	hardWeight     int32 // of a pod whose required affinity is about the one at hand
	ignoreExisting bool  // leaves pods without preferred terms unscored
}

func newInterPodAffinityScore(profile *config.Profile) (Score, error) {
	args := profile.InterPodAffinityArgs()
	return interPodAffinityScore{hardWeight: *args.HardPodAffinityWeight, ignoreExisting: args.IgnorePreferredTermsOfExistingPods}, nil
}

func (interPodAffinityScore) Name() string { return config.InterPodAffinity }

// Aspects returns the aspects that the predicate of the same name reads.
func (interPodAffinityScore) Aspects() cluster.Aspect { return interPodAffinity{}.Aspects() }

// For rates a pod without preferred terms too: there may be pods, or come some, whose
// terms are about it. A pod with a selector that does not parse fits nowhere.
func (s interPodAffinityScore) For(pod *cluster.Pod, snap *cluster.Snapshot) Rating {
	var terms cluster.Affinity
	if pod.Affinity != nil {
		terms = *pod.Affinity
	}
	prefers := len(terms.Preferred)+len(terms.PreferredAnti) > 0
	if terms.Err != nil || s.ignoreExisting && !prefers {
		return Rating{}
	}
	c := &podAffinityComparison{hardWeight: s.hardWeight}
	var own []*cluster.AffinityTerm
	for i := range terms.Preferred {
		own, c.weights = append(own, &terms.Preferred[i].AffinityTerm), append(c.weights, terms.Preferred[i].Weight)
	}
	for i := range terms.PreferredAnti {
		own, c.weights = append(own, &terms.PreferredAnti[i].AffinityTerm), append(c.weights, -terms.PreferredAnti[i].Weight)
	}
	c.affinitySubject = newAffinitySubject(pod, snap.Objects, own)
	for i := range own {
		c.sum(own[i].TopologyKey, snap)
	}
	return Rating{Among: c}
}

// podAffinityComparison is interPodAffinityScore for a pod.
type podAffinityComparison struct {
	affinitySubject
	weights    []int32 // by term of the subject, negative for anti-affinity
	hardWeight int32

	sums []*weightSum // by topology key, of keys that mattered
}

// weightSum sums up, in the failure domains of one topology key, the weights of the
// terms that are met there.
type weightSum struct {
	domainSum[int32]
	next int32 // the share of the node at hand; 0 between two
}

// begins implements [sparse].
func (c *podAffinityComparison) begins(snap *cluster.Snapshot) ([]int32, bool) { return c.matter(snap) }

// Update implements [Digest].
func (c *podAffinityComparison) Update(snap *cluster.Snapshot, nodes []int32) {
	for _, sum := range c.sums {
		sum.follow(snap)
	}
	c.remember(nodes)
	for _, index := range nodes {
		c.put(index, snap.Node(index), snap)
	}
	c.forget()
	for _, sum := range c.sums {
		sum.settle()
	}
}

// Suppose implements [Digest].
func (c *podAffinityComparison) Suppose(snap *cluster.Snapshot, node *cluster.Node) {
	c.put(node.Index, node, snap)
}

// put takes in the pods of a node, which is nil when it is gone.
func (c *podAffinityComparison) put(index int32, node *cluster.Node, snap *cluster.Snapshot) {
	if node != nil {
		c.weighOwn(node)
		c.weighTheirs(node, snap)
	}
	for _, sum := range c.sums {
		sum.put(index, sum.next, nil)
		sum.next = 0
	}
}

// weighOwn adds what the terms of the pod itself say of a node.
func (c *podAffinityComparison) weighOwn(node *cluster.Node) {
	for i := range c.terms {
		t := &c.terms[i]
		for place := range node.Pods {
			if t.matches(node, place) {
				c.sum(t.TopologyKey, nil).next += c.weights[i]
			}
		}
	}
}

// weighTheirs adds what the terms of the pods on a node say of the one at hand.
func (c *podAffinityComparison) weighTheirs(node *cluster.Node, snap *cluster.Snapshot) {
	weigh := func(t *cluster.AffinityTerm, weight int32) {
		if _, carried := node.Labels[t.TopologyKey]; !carried || weight == 0 || !c.matchedBy(t) {
			return // a node without the label is in no domain
		}
		if sum := c.sum(t.TopologyKey, snap); sum != nil {
			sum.next += weight
		}
	}
	for _, pod := range node.Affine {
		for i := range pod.Affinity.Required {
			weigh(&pod.Affinity.Required[i], c.hardWeight)
		}
		for i := range pod.Affinity.Preferred {
			t := &pod.Affinity.Preferred[i]
			weigh(&t.AffinityTerm, t.Weight)
		}
		for i := range pod.Affinity.PreferredAnti {
			t := &pod.Affinity.PreferredAnti[i]
			weigh(&t.AffinityTerm, -t.Weight)
		}
	}
}

// sum finds or adds the one of a topology key. None is added without a snapshot: the
// result is nil.
func (c *podAffinityComparison) sum(key string, snap *cluster.Snapshot) *weightSum {
	at := slices.IndexFunc(c.sums, func(sum *weightSum) bool { return sum.key == key })
	if at >= 0 {
		return c.sums[at]
	}
	if snap == nil {
		return nil
	}
	sum := &weightSum{domainSum: domainSum[int32]{key: key}}
	sum.follow(snap)
	c.sums = append(c.sums, sum)
	return sum
}

// Rate implements [Comparison]: 0 for the node with the lowest sum of weights, MaxScore
// for the one with the highest.
func (c *podAffinityComparison) Rate(nodes, _ []int32, ratings []int64) {
	clear(ratings)
	if len(c.sums) == 0 || len(nodes) == 0 {
		return
	}
	for _, sum := range c.sums {
		for i, index := range nodes {
			_, weight := sum.at(index)
			ratings[i] += int64(weight)
		}
	}
	lowest, highest := slices.Min(ratings), slices.Max(ratings)
	for i := range ratings {
		if highest > lowest {
			// Not in integers, so that it is rounded as kube-scheduler does it.
			ratings[i] = int64(MaxScore * (float64(ratings[i]-lowest) / float64(highest-lowest)))
		} else {
			ratings[i] = 0
		}
	}
}

// Group implements [Comparison].
func (c *podAffinityComparison) Group(index int32) uint64 {
	group := uint64(0)
	for _, sum := range c.sums {
		domain, weight := sum.at(index)
		if sum.now.Size(domain) == 1 {
			group = mix(group, ofAmount(weight))
		} else {
			group = mix(group, ofDomain(domain))
		}
	}
	return group
}

func (c *podAffinityComparison) minds(pod *cluster.Pod) bool {
	if slices.ContainsFunc(c.terms, func(t ownTerm) bool { return t.isAbout(pod) }) {
		return true
	}
	about := func(t cluster.WeightedAffinityTerm) bool { return c.matchedBy(&t.AffinityTerm) }
	return pod.Affinity != nil &&
		(c.hardWeight != 0 && slices.ContainsFunc(pod.Affinity.Required, func(t cluster.AffinityTerm) bool { return c.matchedBy(&t) }) ||
			slices.ContainsFunc(pod.Affinity.Preferred, about) || slices.ContainsFunc(pod.Affinity.PreferredAnti, about))
}

// kinds implements [regrouping].
func (c *podAffinityComparison) kinds() int { return len(c.sums) }

func (c *podAffinityComparison) size() int64 {
	size := int64(unsafe.Sizeof(*c)) + c.affinitySubject.size() + int64(cap(c.weights))*int64(unsafe.Sizeof(int32(0))) +
		int64(cap(c.sums))*int64(unsafe.Sizeof(&weightSum{}))
	for _, sum := range c.sums {
		size += int64(unsafe.Sizeof(*sum)) + sum.size()
	}
	return size
}
