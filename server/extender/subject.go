package extender

import (
	"context"
	"errors"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/wire"
)

// watchLag is how long a call about a pod waits for the watch to show it: kube-scheduler has a watch
// of its own, which may be ahead. While it lasts this process would decide on an old view anyway.
const watchLag = 500 * time.Millisecond

// subject is the pod that a call is about.
type subject struct {
	// pod is nil until it is found.
	pod *cluster.Pod
	// known says that the watch shows the pod, without a node. It holds until the watch was asked.
	known bool
}

// view returns a profile's view of the pod. Nothing is remembered of a stranger.
func (s *subject) view(profile *predicates.VerdictStore) predicates.View {
	if s.known {
		return profile.View(s.pod)
	}
	return profile.ViewAlone(s.pod)
}

// count has the pod of a call count on a node in the state in which judge found that it fits there. If the node, or
// what else was read of the cluster, has changed since, judge is asked again about the pod as the watch shows it now,
// until it objects or the call ends.
func (c *call) count(in *cluster.Cluster, judge func() (on cluster.Basis, err error)) error {
	for {
		on, err := judge()
		if err != nil {
			return err
		}
		if err := in.AssumeAsJudged(c.subject.pod, on); !errors.Is(err, cluster.ErrNodeChanged) {
			return err
		}
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		c.lookAgain(in)
	}
}

// lookAgain has the call go on with its pod as the watch shows it now.
func (c *call) lookAgain(view *cluster.Cluster) {
	if pod := view.PendingPod(c.subject.pod.UID); pod != nil {
		c.subject.pod = pod
	}
}

var errOtherPod = errors.New("Pod: metadata: another pod has this uid") //nolint:staticcheck // the field is spelled so

// find finds the pod that a call names, or takes it as it is posted.
func (e *Extender) find(c *call) error {
	p := &c.args.Pod
	if pod := e.watch.pending(c.ctx, p); pod != nil {
		if pod.Name != p.Name || pod.Namespace != p.Namespace {
			return badRequest(errOtherPod)
		}
		c.subject = subject{pod: pod, known: true}
		return nil
	}
	c.subject = subject{known: false}
	if err := c.hold(p.Memory()); err != nil {
		return err
	}
	object, err := p.Object()
	if err != nil {
		return badRequest(err)
	}
	// As the watch would keep it, so that it is judged as if it were there. No kubelet has resized it: to look up the
	// status of each container takes the square of their number.
	object.Status.ContainerStatuses, object.Status.InitContainerStatuses = nil, nil
	if _, err := cluster.Trim(object); err != nil {
		return badRequest(err)
	}
	c.subject.pod = e.watch.cluster.Foreseen(cluster.NewPod(object))
	return nil
}

// watch finds the pods without a node that the watch shows.
type watch struct {
	cluster *cluster.Cluster
	// lag is how long the watch may be behind kube-scheduler's. It is 0 where nothing more will be shown.
	lag time.Duration
}

// newWatch waits for pods where there is an API server.
func newWatch(o *Options) watch {
	if o.Client == nil {
		return watch{cluster: o.Cluster}
	}
	return watch{cluster: o.Cluster, lag: watchLag}
}

// pending returns the pod that a request names as the watch shows it, nil for a stranger.
func (w *watch) pending(ctx context.Context, p *wire.Pod) *cluster.Pod {
	switch {
	case p.UID == "": // written by hand
		return nil
	case w.lag == 0:
		return w.cluster.PendingPod(p.UID)
	default:
		return w.cluster.AwaitPending(ctx, p.UID, w.lag)
	}
}
