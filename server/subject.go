package server

import (
	"context"
	"errors"
	"time"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/wire"
)

// What a caller posts is the name of a pod and a question. All that outlives the answer is decided
// by what the watch shows of the pod of that UID: its labels, priority, scheduler name, requests.
// A pod that the watch does not show is a stranger. It gets an answer about itself alone, so that
// people can ask what would be; nothing is planned, counted, evicted or remembered for it.

// watchLag is how long a call about a pod waits for the watch to show it: kube-scheduler has a watch
// of its own, which may be ahead. While it lasts this process would decide on an old view anyway.
const watchLag = 500 * time.Millisecond

// subject is the pod that a call is about.
type subject struct {
	pod   *cluster.Pod
	known bool // the watch shows it, without a node
}

// view is what a profile says of the pod. Of a stranger nothing is remembered.
func (s *subject) view(profile *predicates.VerdictStore) predicates.View {
	if s.known {
		return profile.View(s.pod)
	}
	return profile.ViewAlone(s.pod)
}

var errOtherPod = errors.New("Pod: metadata: another pod has this uid") //nolint:staticcheck // the field is spelled so

// subject finds the pod that a request names, or takes it as it is posted.
func (e *Extender) subject(c *call, p *wire.Pod) (*subject, error) {
	if pod := e.pending(c.ctx, p); pod != nil {
		if pod.Name != p.Name || pod.Namespace != p.Namespace {
			return nil, badRequest(errOtherPod)
		}
		return &subject{pod: pod, known: true}, nil
	}
	c.stranger = true
	if err := c.hold(p.Memory()); err != nil {
		return nil, err
	}
	object, err := p.Object()
	if err != nil {
		return nil, badRequest(err)
	}
	// As the watch would keep it, so that it is judged as if it were there.
	if _, err := cluster.Trim(object); err != nil {
		return nil, badRequest(err)
	}
	return &subject{pod: cluster.NewPod(object)}, nil
}

// pending is the pod that a request names as the watch shows it, nil for a stranger.
func (e *Extender) pending(ctx context.Context, p *wire.Pod) *cluster.Pod {
	if p.UID == "" { // written by hand
		return nil
	}
	if e.client == nil { // nothing is going to be shown
		return e.cluster.PendingPod(p.UID)
	}
	return e.cluster.AwaitPending(ctx, p.UID, watchLag)
}

// filterStranger answers which of the nodes a pod would fit that the watch does not show.
func (e *Extender) filterStranger(c *call, profile *predicates.VerdictStore, pod *cluster.Pod) {
	if _, member := membership.Of(pod.Pod); member && e.gangs != nil {
		e.refuse(c, gang.ReasonUnknown)
		return
	}
	view := profile.ViewAlone(pod)
	defer view.Close()
	if profile.Profile.NodeSelection == v1alpha2.NodeSelectionScheduler {
		e.sift(c, &view)
		return
	}
	at, index := e.best(c, &view, pod)
	reply := newFilterReply(c)
	if at < 0 {
		e.reject(c, &reply, &view)
		return
	}
	reply.Accept(accepted(c, at, index))
	reply.End()
}
