package extender

import (
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/wire"
)

// filter answers which of the nodes the pod fits: all that do, the best of them where the
// profile has a shortlist, or with nodeSelection: Muster the one that muster picks.
func (e *Extender) filter(q *request, m *memory) (report, error) {
	generation := e.watch.cluster.Snapshot().Generation
	answer, err := e.answer(q, m)
	if err != nil {
		return q.report(""), err
	}
	answer.write(q, m)
	found := q.report(answer.outcome())
	if found.outcome == outcomeUnschedulable {
		for _, refusals := range e.refusals {
			refusals.Refused(q.pod.UID, generation)
		}
	}
	return found, nil
}

// answer finds the answer of a filter call. Earlier offers for a pod that waits are void.
func (e *Extender) answer(q *request, m *memory) (answer, error) {
	switch {
	case q.unserved != "":
		return answer{failure: q.unserved}, nil
	case q.stranger:
		return e.answerStranger(q, m)
	}
	e.picker.offers.end(q.pod.UID)
	last, err := ask(e.claimants, q, m)
	if last.decided || err != nil {
		return last.answer, err
	}
	return e.answerAlone(q, m, last.advice)
}

// answerAlone answers about a pod that is placed for itself. If it fits nowhere, what is
// planned for others may give way to it.
func (e *Extender) answerAlone(q *request, m *memory, given advice) (answer, error) {
	first, err := e.picker.answer(q, m, given.left)
	if err != nil || first.outcome() != outcomeUnschedulable {
		return first, err
	}
	for _, yielder := range e.yielders {
		if yielder.giveWay(q) {
			return e.picker.answer(q, m, given.left)
		}
	}
	return first, nil
}

// answerStranger answers which of the nodes a pod would fit that the watch does not show.
func (e *Extender) answerStranger(q *request, m *memory) (answer, error) {
	if e.isUnknownMember(q.pod) {
		return e.picker.refuse(q, core.ReasonUnknown), nil
	}
	view := q.view()
	defer view.Close()
	if q.picksNode() {
		return e.picker.wouldChoose(q, m, &view), nil
	}
	return e.picker.sift(q, m, &view, nil), nil
}

// answer is filter's about a pod. Its slices may be of the call's memory.
type answer struct {
	// about is the pod as it was judged, and nodes are the candidates.
	about *cluster.Pod
	nodes candidates
	// offered are the nodes that the pod may go to, and places where they stand in the request.
	offered []int32
	places  []int
	// rejected are the candidates that do not fit, unless the others are told alone.
	rejected []rejection
	// reason is why the pod is offered none of the candidates, if that is one for all.
	reason string
	// failure is why there is no answer about nodes.
	failure string
}

// rejection is a candidate on which the pod cannot run, and why.
type rejection struct {
	index   int32
	verdict predicates.Verdict
}

// outcome returns the outcome of a call that is answered so.
func (a *answer) outcome() string {
	switch {
	case a.failure != "":
		return outcomeError
	case len(a.offered) == 0:
		return outcomeUnschedulable
	default:
		return outcomeOK
	}
}

// write writes the answer to a request.
func (a *answer) write(q *request, m *memory) {
	to := &m.reply
	if a.failure != "" {
		wire.FilterError(to, a.failure)
		return
	}
	var reply wire.FilterReply
	if q.whole {
		reply = wire.NewFilterReplyOfObjects(to)
		for _, at := range a.places {
			reply.Accept(q.objects[at])
		}
	} else {
		reply = wire.NewFilterReply(to)
		for _, index := range a.offered {
			reply.Accept(a.nodes.names.Quoted(index))
		}
	}
	if a.reason != "" {
		for _, index := range a.nodes.indexes {
			reply.Reject(a.nodes.quoted(index, &m.unknown), a.reason)
		}
	}
	last, reason := predicates.Fits, ""
	for i, r := range a.rejected {
		name := a.nodes.quoted(r.index, &m.unknown)
		if r.verdict != last {
			last, reason = r.verdict, q.store.Profile.Reason(r.verdict, a.about)
		}
		if i == 0 { // most are as long, and for the same reason
			to.Buf = slices.Grow(to.Buf, len(a.rejected)*(len(name)+len(reason)+len(`:"",`)))
		}
		reply.Reject(name, reason)
	}
	reply.End()
}
