package extender

import (
	"math"

	"github.com/go-faster/jx"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/wire"
)

// scoreStep is how many points of a total make one of the scores that an extender gives. kube-scheduler multiplies them
// by as much (MaxNodeScore / MaxExtenderPriority, in prioritizeNodes of pkg/scheduler/schedule_one.go) and adds them to
// its own, 0 to 100 times their weight each. It sets no upper bound, so that a plugin of muster's weighs as much as one of
// kube-scheduler's with the same weight.
const scoreStep = predicates.MaxScore / extenderv1.MaxExtenderPriority

// prioritize scores the nodes that survived every filter, each plugin 0 to 10 times its weight. Where it matters to
// the profile, the best one stands out, and the pod is expected there; see expect.
//
// Only differences between nodes count, and a node that is left out counts 0. So
// scores are told as what they are above the lowest, and nodes of the lowest score
// are left out: for each entry the scheduler decodes an object, takes a lock and
// fills a map, which at thousands of nodes is dearer than all that happens here.
func (e *Extender) prioritize(q *request, m *memory) (report, error) {
	if q.unserved != "" {
		return q.report(""), noProfile(q.unserved)
	}
	if q.store.Profile.Shortlist > 0 { // kube-scheduler gives these scores itself
		writeScores(&m.reply, nil, nil, nil)
		return q.report(outcomeOK), nil
	}
	expects := !q.stranger && q.expects()
	if expects {
		e.picker.cluster.Unexpect(q.pod.UID) // it is not in its own way
	}
	view := q.view()
	defer view.Close()
	nodes := m.known(q.nodes.in(view.Snapshot))
	totals := m.rank(&view, nodes)
	best := -1
	if expects && len(totals) > 0 {
		best = first(totals, e.picker.pick)
	}
	for i, total := range totals {
		totals[i] = (total + scoreStep/2) / scoreStep
	}
	if best >= 0 {
		standOut(totals, best)
		e.picker.cluster.Expect(q.pod, view.Snapshot.Node(nodes[best]).Name)
	}
	writeScores(&m.reply, view.Snapshot.NodeNames, nodes, totals)
	return q.report(outcomeOK), nil
}

// known returns the indexes of the candidates that are in the snapshot. The slice is good until r judges others.
func (r *ranking) known(nodes candidates) []int32 {
	r.fitting = r.fitting[:0]
	for _, index := range nodes.indexes {
		if index >= 0 {
			r.fitting = append(r.fitting, index)
		}
	}
	return r.fitting
}

// writeScores writes the scores of nodes as what they are above the lowest.
func writeScores(to *jx.Writer, names *cluster.NodeNames, nodes []int32, scores []int64) {
	lowest := int64(math.MaxInt64)
	for _, score := range scores {
		lowest = min(lowest, score)
	}
	reply := wire.NewPriorityReply(to)
	for i, score := range scores {
		if above := score - lowest; above > 0 {
			reply.Add(names.Quoted(nodes[i]), above)
		}
	}
	reply.End()
}

// expects reports whether for the pod's profile it matters where kube-scheduler is about to put pods: muster
// does not pick their nodes, and a plugin reads the expected pods.
func (s *subject) expects() bool {
	return !s.picksNode() && s.store.Profile.DependsOn(cluster.AspectExpected)
}

// expect has the pod of a request count as on its way to the node that kube-scheduler will pick as far as
// muster's answer decides. The bind call tells where it went. Until then the next pods would
// be sent to the same nodes, as if they had room for all.
func (p *picker) expect(q *request, node *cluster.Node) {
	if q.expects() {
		p.cluster.Expect(q.pod, node.Name)
	}
}

// first returns the place of the highest total; of several, that of one at random.
func first(totals []int64, pick func(n int) int) int {
	best, ties := 0, 1
	for i := 1; i < len(totals); i++ {
		switch {
		case totals[i] > totals[best]:
			best, ties = i, 1
		case totals[i] == totals[best]:
			if ties++; pick(ties) == 0 {
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
