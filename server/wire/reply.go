package wire

import "github.com/go-faster/jx"

// FilterReply writes an ExtenderFilterResult, piece by piece: first the fitting nodes, then Reject
// for the others, then End. A reply of names is started with NewFilterReply, one of objects with
// NewFilterReplyOfObjects.
type FilterReply struct {
	w        *jx.Writer
	objects  bool
	first    bool
	rejected bool
}

// NewFilterReply starts a reply that lists names.
func NewFilterReply(w *jx.Writer) FilterReply {
	w.RawStr(`{"NodeNames":[`)
	return FilterReply{w: w, first: true}
}

// NewFilterReplyOfObjects starts a reply that lists node objects, for a scheduler
// with nodeCacheCapable: false, which ignores names.
func NewFilterReplyOfObjects(w *jx.Writer) FilterReply {
	w.RawStr(`{"Nodes":{"metadata":{},"items":[`)
	return FilterReply{w: w, objects: true, first: true}
}

// Accept lists a node that fits: its quoted name, or its object in JSON.
func (r *FilterReply) Accept(node []byte) {
	r.separate()
	r.w.Raw(node)
}

// Reject names a node on which the pod cannot run and why. Every Accept comes
// before the first Reject.
//
// All go into FailedAndUnresolvableNodes. The scheduler asks about nodes that
// its own predicates accept, so evicting pods there would not have changed its
// mind: told otherwise, its preemption fails with "expected at least one victim
// pod" (pkg/scheduler/framework/preemption). That holds however few of its own
// predicates are on.
func (r *FilterReply) Reject(quotedName []byte, reason string) {
	if !r.rejected {
		r.close()
		r.w.RawStr(`,"FailedAndUnresolvableNodes":{`)
		r.first, r.rejected = true, true
	}
	r.separate()
	r.w.Raw(quotedName)
	r.w.RawStr(`:`)
	r.w.Str(reason)
}

// End finishes the reply.
func (r *FilterReply) End() {
	if r.rejected {
		r.w.RawStr(`}}`)
		return
	}
	r.close()
	r.w.RawStr(`}`)
}

func (r *FilterReply) close() {
	r.w.RawStr(`]`)
	if r.objects {
		r.w.RawStr(`}`)
	}
}

func (r *FilterReply) separate() {
	if !r.first {
		r.w.RawStr(`,`)
	}
	r.first = false
}

// FilterError writes an ExtenderFilterResult that fails the call.
func FilterError(w *jx.Writer, message string) {
	w.RawStr(`{"Error":`)
	w.Str(message)
	w.RawStr(`}`)
}

// PriorityReply writes a HostPriorityList. Start with NewPriorityReply.
type PriorityReply struct {
	w     *jx.Writer
	first bool
}

// NewPriorityReply starts a list.
func NewPriorityReply(w *jx.Writer) PriorityReply {
	w.RawStr(`[`)
	return PriorityReply{w: w, first: true}
}

// Add gives a node its score, 0 to extender/v1.MaxExtenderPriority.
func (r *PriorityReply) Add(quotedName []byte, score int64) {
	if r.first {
		r.w.RawStr(`{"Host":`)
	} else {
		r.w.RawStr(`,{"Host":`)
	}
	r.first = false
	r.w.Raw(quotedName)
	r.w.RawStr(`,"Score":`)
	r.w.Int64(score)
	r.w.RawStr(`}`)
}

// End finishes the list.
func (r *PriorityReply) End() { r.w.RawStr(`]`) }
