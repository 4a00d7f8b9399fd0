package extender

import (
	"math"
	"slices"

	"github.com/go-faster/jx"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
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

// ranking is the memory in which candidates are judged and ranked.
type ranking struct {
	fitting  []int32
	places   []int
	rejected []rejection
	totals   []int64
	highest  []int
}

// judge returns an answer that offers all candidates on which a pod fits by a view. Nodes that plans of the
// rescheduler keep the pod away from are left. It is valid until the next one is made.
func (r *ranking) judge(view *predicates.View, about *cluster.Pod, nodes candidates, left sets.Set[string]) answer {
	a := answer{about: about, nodes: nodes, offered: r.fitting[:0], places: r.places[:0], rejected: r.rejected[:0]}
	view.JudgeAll(nodes.indexes)
	for i, index := range nodes.indexes {
		if verdict := verdict(view, index, left); verdict != predicates.Fits {
			a.rejected = append(a.rejected, rejection{index, verdict})
			continue
		}
		a.offered, a.places = append(a.offered, index), append(a.places, i)
	}
	r.fitting, r.places, r.rejected = a.offered, a.places, a.rejected
	return a
}

// only returns an answer that offers one candidate, and tells nothing of the others. It takes the place of the
// last one that was judged.
func (r *ranking) only(at int, index int32, nodes candidates) answer {
	r.fitting, r.places = append(r.fitting[:0], index), append(r.places[:0], at)
	return answer{nodes: nodes, offered: r.fitting, places: r.places}
}

// verdict returns the verdict of the view, unless plans keep the pod away from the node. Without plans
// there is nothing to look for.
func verdict(view *predicates.View, index int32, left sets.Set[string]) predicates.Verdict {
	verdict := view.Verdict(index)
	if verdict == predicates.Fits && len(left) > 0 && left.Has(view.Snapshot.Node(index).Name) {
		return predicates.LeftNode
	}
	return verdict
}

// rank returns the totals of nodes, until others are ranked.
func (r *ranking) rank(view *predicates.View, nodes []int32) []int64 {
	r.totals = slices.Grow(r.totals[:0], len(nodes))[:len(nodes)]
	view.Rank(nodes, r.totals)
	return r.totals
}

// best returns which of the nodes that an answer offers has the highest total; -1 when there is none.
//
// Of several, it is the one with the least [placement.Misfit]. Among several still, it is one at random, as in
// kube-scheduler.
func (r *ranking) best(view *predicates.View, a *answer, pick func(n int) int) (best int) {
	best = -1
	var highest int64
	var least float64
	ties := 0
	for i, total := range r.rank(view, a.offered) {
		if best >= 0 && total < highest {
			continue
		}
		misfit := placement.Misfit(a.about, view.Node(a.offered[i]))
		switch {
		case best < 0 || total > highest || misfit < least:
			best, highest, least, ties = i, total, misfit, 1
		case misfit == least:
			if ties++; pick(ties) == 0 {
				best = i
			}
		}
	}
	return best
}

// shorten reduces what an answer offers to the size of a shortlist: to the candidates with the highest totals. Among
// equals it keeps the first from a place on that changes from call to call, as kube-scheduler may name its nodes in the
// same order each time.
func (r *ranking) shorten(view *predicates.View, a *answer, size int, pick func(n int) int) {
	if size == 0 || len(a.offered) <= size || scoredByOthers(a.about.Spec) {
		return
	}
	totals := r.rank(view, a.offered)
	r.highest = r.highest[:0]
	first := pick(len(totals))
	for i := range totals {
		r.highest = addToBest(r.highest, (first+i)%len(totals), totals, size)
	}
	slices.Sort(r.highest) // in the order of the request
	for to, from := range r.highest {
		a.offered[to], a.places[to] = a.offered[from], a.places[from]
	}
	a.offered, a.places = a.offered[:size], a.places[:size]
}

// addToBest adds i to the indexes of the highest totals, size at most and the highest first. Indexes that were
// added before come before equals.
func addToBest(best []int, i int, totals []int64, size int) []int {
	if len(best) == size {
		if totals[i] <= totals[best[size-1]] {
			return best
		}
		best = best[:size-1]
	}
	at := len(best)
	for at > 0 && totals[best[at-1]] < totals[i] {
		at--
	}
	return slices.Insert(best, at, i)
}

// scoredByOthers reports whether kube-scheduler may rate nodes for a pod by what muster does not rate: by the devices
// and by the volumes that a node has for it.
func scoredByOthers(spec corev1.PodSpec) bool {
	return len(spec.ResourceClaims) > 0 || slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
}
