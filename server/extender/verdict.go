package extender

import (
	"slices"

	"github.com/go-faster/jx"

	"muster.dev/muster/predicates"
	"muster.dev/muster/server/wire"
)

// rejection is a candidate on which the pod cannot run, and why.
type rejection struct {
	index   int32
	verdict predicates.Verdict
}

// verdict returns the verdict of the view, unless plans keep the pod away from the node. Without plans
// there is nothing to look for.
func (c *call) verdict(view *predicates.View, index int32) predicates.Verdict {
	verdict := view.Verdict(index)
	if verdict == predicates.Fits && len(c.left) > 0 && slices.Contains(c.left, index) {
		return predicates.LeftNode
	}
	return verdict
}

// judge notes which candidates fit, where they stand in the request, and, in c.rejected, the candidates that do
// not fit.
func (c *call) judge(view *predicates.View) {
	c.rejected, c.fitting, c.places = c.rejected[:0], c.fitting[:0], c.places[:0]
	candidates := c.candidates.in(view.Snapshot)
	view.JudgeAll(candidates)
	for i, index := range candidates {
		if verdict := c.verdict(view, index); verdict != predicates.Fits {
			c.rejected = append(c.rejected, rejection{index, verdict})
			continue
		}
		c.fitting, c.places = append(c.fitting, index), append(c.places, i)
	}
}

// rank returns the totals of nodes, in memory that the next ranking of the call uses
// again.
func (c *call) rank(view *predicates.View, nodes []int32) []int64 {
	c.totals = slices.Grow(c.totals[:0], len(nodes))[:len(nodes)]
	view.Rank(nodes, c.totals)
	return c.totals
}

func newFilterReply(c *call) wire.FilterReply {
	if c.args.WholeNodes {
		return wire.NewFilterReplyOfObjects(&c.reply)
	}
	return wire.NewFilterReply(&c.reply)
}

// accepted returns the candidate at a place of the request as it stands in the answer.
func accepted(c *call, at int, index int32) []byte {
	if c.args.WholeNodes {
		return c.args.Nodes[at]
	}
	return c.candidates.names.Quoted(index)
}

// reject ends an answer with the candidates that do not fit.
func (c *call) reject(reply *wire.FilterReply, view *predicates.View) {
	var unknown jx.Writer
	last, reason := predicates.Fits, ""
	for i, r := range c.rejected {
		name := c.candidates.quoted(r.index, &unknown)
		if r.verdict != last {
			last, reason = r.verdict, view.Reason(r.verdict)
		}
		if i == 0 { // most are as long, and for the same reason
			c.reply.Buf = slices.Grow(c.reply.Buf, len(c.rejected)*(len(name)+len(reason)+len(`:"",`)))
		}
		reply.Reject(name, reason)
	}
	reply.End()
	if len(c.rejected) == len(c.candidates.indexes) {
		c.outcome = outcomeUnschedulable
	}
}
