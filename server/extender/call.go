package extender

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-faster/jx"

	"muster.dev/muster/predicates"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/wire"
)

// Outcomes of a call, as they stand in metrics.
const (
	outcomeOK            = "ok"
	outcomeUnschedulable = "unschedulable" // no node fits
	outcomeError         = "error"         // answered with an error of the verb
	outcomeKept          = "kept"          // a member of a gang was held for as long as a call may be, and is to come again
	outcomeGone          = "gone"          // the pod was deleted before it could be bound
	outcomeBadRequest    = "bad_request"
	outcomeTooLarge      = "too_large"
	outcomeBusy          = "busy" // other calls hold too much memory
	outcomeNotReady      = "not_ready"
	outcomeCanceled      = "canceled" // the caller went away
	outcomePanic         = "panic"
)

// keepBytes is the largest buffer that is kept for the next call: a request and
// an answer about 15,000 nodes fit well.
const keepBytes = 4 << 20

// call is one call of a verb, with memory that the next one uses again.
type call struct {
	ctx  context.Context //nolint:containedctx // a call lives as long as its request
	body []byte
	// reply is the JSON answer that the verb writes.
	reply jx.Writer
	// outcome labels the metrics of the call.
	outcome string
	// subject is the pod that the call is about, and store that of its profile, nil while it is not known.
	subject subject
	store   *predicates.VerdictStore
	// planned is the node that was planned for the pod ahead of the call, or "".
	planned string
	// node is the one to bind to, and binding how long the API server took, 0 when it was not
	// asked.
	node    string
	binding time.Duration

	buffer     []byte
	share      body.Share // of the memory for bodies
	received   int        // bytes of the body
	decoder    jx.Decoder
	args       wire.Args
	candidates candidates
	rejected   []rejection
	ranking
	left []int32 // nodes that plans of the rescheduler keep the pod away from
}

// ranking is which candidates fit, and how they score.
type ranking struct {
	fitting []int32 // the candidates that are ranked
	places  []int   // and where they stand in the request
	totals  []int64 // and their totals
	best    []int   // of totals: the places of the highest
}

// begin makes the call that of a request. The call before leaves only its memory.
func (c *call) begin(ctx context.Context, share body.Share) {
	c.ctx, c.share, c.received, c.outcome = ctx, share, 0, outcomeOK
	c.body, c.args.Pod, c.subject, c.store = nil, wire.Pod{}, subject{known: true}, nil
	c.planned, c.node, c.binding, c.left = "", "", 0, c.left[:0]
	c.reply.Reset()
}

// recycle ends a call, whose memory another one may use unless it is much.
func (c *call) recycle(calls *sync.Pool) {
	c.share.GiveBack()
	if cap(c.buffer) <= keepBytes && cap(c.reply.Buf) <= keepBytes {
		calls.Put(c)
	}
}

// hold has the memory for bodies account for what is about to be decoded.
func (c *call) hold(bytes int64) error {
	if err := c.share.Take(bytes); err != nil {
		return refusedBody(err)
	}
	return nil
}

// letGo gives the body back, which nothing needs any more: the call may be held for long.
func (c *call) letGo() {
	c.body, c.buffer = nil, nil
	c.share.GiveBack()
}

// profile returns the name of the pod's profile, "" while it is not known.
func (c *call) profile() string {
	if c.store == nil {
		return ""
	}
	return c.store.Profile.Name
}

// class returns the hash of the equivalence class that the pod is of, as at /debug/equivalence; ""
// when it has none, or is not known.
func (c *call) class() string {
	if c.subject.pod == nil || c.store == nil {
		return ""
	}
	return c.store.HashOf(c.subject.pod)
}

// encode writes a small answer.
func (c *call) encode(answer any) error {
	encoded, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	c.reply.Raw(encoded)
	return nil
}

// statusOf returns the HTTP status of a call that ended with an error or nil, and notes the
// outcome that an error stands for.
func (c *call) statusOf(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if s, ok := errors.AsType[*statusError](err); ok {
		c.outcome = s.outcome
		return s.status
	}
	c.outcome = outcomeError
	if c.ctx.Err() != nil {
		c.outcome = outcomeCanceled
	}
	return http.StatusInternalServerError
}

// statusError is an error that is answered with an HTTP status other than 200,
// which kube-scheduler takes as the failure of the call.
type statusError struct {
	status  int
	outcome string
	err     error
}

func (e *statusError) Error() string { return e.err.Error() }

func (e *statusError) Unwrap() error { return e.err }

func badRequest(err error) error {
	return &statusError{status: http.StatusBadRequest, outcome: outcomeBadRequest, err: err}
}

// refusedBody returns the answer to a request whose body was not read, or may not be decoded.
func refusedBody(err error) error {
	refusal, is := errors.AsType[*body.RefusalError](err)
	if !is {
		return badRequest(err)
	}
	outcome := map[int]string{http.StatusRequestEntityTooLarge: outcomeTooLarge, http.StatusServiceUnavailable: outcomeBusy}[refusal.Status]
	if outcome == "" {
		outcome = outcomeBadRequest
	}
	return &statusError{status: refusal.Status, outcome: outcome, err: refusal.Err}
}
