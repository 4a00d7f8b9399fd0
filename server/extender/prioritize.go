package extender

import (
	"math"
	"net/http"

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
func (e *Extender) prioritize(c *call) error {
	if err := e.read(c); err != nil {
		return err
	}
	if err := e.find(c); err != nil {
		return err
	}
	if err := e.profile(c); err != nil {
		return &statusError{status: http.StatusUnprocessableEntity, outcome: outcomeError, err: err}
	}
	if c.store.Profile.Shortlist > 0 { // kube-scheduler gives these scores itself
		c.replyScores(nil, nil)
		return nil
	}
	expects := c.subject.known && c.expects()
	if expects {
		e.picker.cluster.Unexpect(c.subject.pod.UID) // it is not in its own way
	}
	view := c.subject.view(c.store)
	defer view.Close()
	c.fitting = c.fitting[:0]
	for _, index := range c.candidates.in(view.Snapshot) {
		if index >= 0 {
			c.fitting = append(c.fitting, index)
		}
	}
	totals := c.rank(&view, c.fitting)
	best := -1
	if expects && len(totals) > 0 {
		best = e.picker.first(totals)
	}
	for i, total := range totals {
		totals[i] = (total + scoreStep/2) / scoreStep
	}
	if best >= 0 {
		standOut(totals, best)
		e.picker.expect(c, view.Snapshot.Node(c.fitting[best]))
	}
	c.replyScores(view.Snapshot.NodeNames, totals)
	return nil
}

// replyScores answers with the scores of c.fitting as what they are above the lowest.
func (c *call) replyScores(names *cluster.NodeNames, scores []int64) {
	lowest := int64(math.MaxInt64)
	for _, score := range scores {
		lowest = min(lowest, score)
	}
	reply := wire.NewPriorityReply(&c.reply)
	for i, score := range scores {
		if above := score - lowest; above > 0 {
			reply.Add(names.Quoted(c.fitting[i]), above)
		}
	}
	reply.End()
}
