package extender

import "muster.dev/muster/cluster"

// expects reports whether for the call's profile it matters where kube-scheduler is about to put pods: muster
// does not pick their nodes, and a plugin reads the expected pods.
func (c *call) expects() bool {
	return !c.picksNode() && c.store.Profile.DependsOn(cluster.AspectExpected)
}

// expect has the call's pod count as on its way to the node that kube-scheduler will pick as far as
// muster's answer decides. The bind call tells where it went. Until then the next pods would
// be sent to the same nodes, as if they had room for all.
func (p *picker) expect(c *call, node *cluster.Node) {
	if c.expects() {
		p.cluster.Expect(c.subject.pod, node.Name)
	}
}

// first returns the place of the highest total; of several, that of one at random.
func (p *picker) first(totals []int64) int {
	best, ties := 0, 1
	for i := 1; i < len(totals); i++ {
		switch {
		case totals[i] > totals[best]:
			best, ties = i, 1
		case totals[i] == totals[best]:
			if ties++; p.pick(ties) == 0 {
				best = i
			}
		}
	}
	return best
}

// standOut has one of the highest of scores be higher than the others, by one at most. Scores on
// the wire are so coarse that many nodes share the highest one, and kube-scheduler would pick any of
// them: so it picks the one that is best in full precision, and it is known which.
func standOut(scores []int64, best int) {
	scores[best] = max(scores[best], 1)
	for i := range scores {
		if i != best {
			scores[i] = min(scores[i], scores[best]-1)
		}
	}
}
