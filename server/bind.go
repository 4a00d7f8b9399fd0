package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/wire"
)

// bind puts a pod on the node that the scheduler picked: a pod that waits, of a profile of muster, on
// a node that filter has offered for it and that it fits still. It is judged and counted there in one
// step, so that no two calls take the same room. A pod that is on that node already is a success.
func (e *Extender) bind(c *call) error {
	args, err := wire.ReadBind(&c.decoder, c.body)
	if err != nil {
		return badRequest(err)
	}
	c.letGo()
	c.args.Pod.Namespace, c.args.Pod.Name, c.args.Pod.UID, c.node = args.PodNamespace, args.PodName, args.PodUID, args.Node

	result := extenderv1.ExtenderBindingResult{}
	if err := e.bindPod(c); err != nil {
		c.outcome = outcomeError
		if c.ctx.Err() != nil {
			c.outcome = outcomeCanceled
		}
		result.Error = told(err)
		e.log.Warn(
			"bind failed", "pod", args.PodNamespace+"/"+args.PodName, "profile", c.profile, "class", c.class(), "node", args.Node, "err", err,
		)
	}
	return e.encode(c, result)
}

// Why a pod is not bound, besides what predicates say.
var (
	errSnapshot  = errors.New("muster serves a snapshot of a cluster (--snapshot): there is no API server to bind in")
	errNotThere  = errors.New("no pod of this name and UID waits for a node")
	errElsewhere = errors.New("the pod is on another node already")
	errNoProfile = errors.New("no profile of muster has the pod's scheduler name")
	errNotAsked  = errors.New("filter has not offered this node for the pod: it has to be asked first, and anew after a restart of muster")
	errNodeGone  = errors.New("the node is gone")
	errConflict  = errors.New("the API server says that the pod is bound already, or another one by now")
)

// told is what a caller is told of an error. The API server's words about a conflict have UIDs in them,
// which are nobody's business who does not know them.
func told(err error) string {
	if apierrors.IsConflict(err) {
		return errConflict.Error()
	}
	return err.Error()
}

func (e *Extender) bindPod(c *call) error {
	if e.client == nil {
		return errSnapshot
	}
	return e.flights.do(c.ctx, c.args.Pod.UID, c.node, func() error { return e.bindOnce(c) })
}

// bindOnce binds a pod about which there is no other call.
func (e *Extender) bindOnce(c *call) error {
	pod := e.pending(c.ctx, &c.args.Pod)
	if pod == nil || pod.Name != c.args.Pod.Name || pod.Namespace != c.args.Pod.Namespace {
		return e.boundAlready(c)
	}
	c.subject = pod
	if store := e.profiles.Of(pod.Spec.SchedulerName); store != nil { // else the name is anybody's choice, and no label of a metric
		c.profile, c.store = store.Profile.Name, store
	}
	if err := e.takePlace(c); err != nil {
		return err
	}
	if e.gangs != nil {
		if err := e.gangs.Permit(c.ctx, pod.UID, c.node); err != nil {
			return err
		}
	}
	err := e.bindNow(c)
	if e.gangs != nil {
		e.gangs.Bound(pod.UID, err)
	}
	if err == nil {
		e.offers.end(pod.UID)
	}
	return err
}

// boundAlready is the answer about a pod that does not wait: the scheduler may not have got the answer
// to a former call.
func (e *Extender) boundAlready(c *call) error {
	pod, node := e.cluster.Placed(c.args.Pod.UID)
	switch {
	case pod == nil || pod.Name != c.args.Pod.Name || pod.Namespace != c.args.Pod.Namespace:
		return errNotThere
	case node != c.node:
		return errElsewhere
	default:
		return nil
	}
}

// takePlace has the pod count on the node from here on, if it may be bound there.
func (e *Extender) takePlace(c *call) error {
	pod, uid := c.subject, c.subject.UID
	if c.store == nil {
		return errNoProfile
	}
	offered, asked := e.offers.of(uid)
	if !asked {
		return errNotAsked
	}
	for {
		node, counts, err := e.judgeAgain(c, &offered)
		if err != nil || counts {
			return err
		}
		if err := e.cluster.Assume(pod, node); !errors.Is(err, cluster.ErrNodeChanged) {
			return err
		}
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
	}
}

// judgeAgain says on which state of the node the pod of a call fits now, or that it counts there. There is
// nothing to judge for a pod that counts on the node since it was offered, if assumptions alone have changed
// the cluster since: whoever was judged after the pod has had it counted.
func (e *Extender) judgeAgain(c *call, offered *offer) (node *cluster.Node, counts bool, err error) {
	snap, assumed := e.cluster.Snapshot(), e.cluster.Assumed(c.subject.UID)
	node = snap.NodeByName(c.node)
	switch {
	case node == nil:
		return nil, false, errNodeGone
	case !offered.includes(node):
		return nil, false, errNotAsked
	case assumed != "" && assumed != c.node:
		return nil, false, fmt.Errorf("the pod counts on node %s, which is its place or to which it may have been bound already", assumed)
	case assumed != "" && snap.Unforeseen <= offered.generation:
		return node, true, nil
	}
	e.avoid(c, e.leftBy(c.subject))
	e.cluster.Unexpect(c.subject.UID) // it is not in its own way
	view := c.store.ViewWithout(c.subject, assumed)
	defer view.Close()
	node = view.Snapshot.NodeByName(c.node)
	if node == nil {
		return nil, false, errNodeGone
	}
	verdict := c.verdict(&view, node.Index)
	switch {
	case verdict == predicates.Fits:
		return node, false, nil
	case e.takesHole(c.subject, node, view.Snapshot):
		return nil, false, fmt.Errorf("the room on node %s is kept for a pod that a ReschedulingPlan moves", c.node)
	default:
		return nil, false, fmt.Errorf("the pod does not fit on node %s any more: %s", c.node, view.Reason(verdict))
	}
}

// bindNow has the API server bind a pod, also when the caller goes away meanwhile: members of a
// gang that has started are all bound, though the scheduler dies in that moment. The pod's UID goes
// along as a precondition, so that a pod of the same name is never bound instead.
func (e *Extender) bindNow(c *call) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), e.bindTime)
	defer cancel()
	pod := c.subject
	e.cluster.Bind(pod.UID, c.node, e.bindTime+unanswered)
	started := time.Now()
	err := e.client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: c.node},
	}, metav1.CreateOptions{})
	if err != nil && (apierrors.IsConflict(err) || !refused(err)) && e.boundThere(ctx, pod, c.node) {
		err = nil
	}
	c.binding = time.Since(started)
	switch {
	case err == nil:
		e.cluster.Renew(pod.UID)
	case refused(err):
		e.cluster.Refuse(pod.UID)
	default:
		e.cluster.Bind(pod.UID, c.node, unanswered)
	}
	return err
}

// unanswered is how long after the end of a call without an answer the API server may still
// bind the pod, and the watch may still have to show it. Then it counts there no more.
const unanswered = 5 * time.Second

// refused says that the API server has answered, and has not done what it was asked to.
func refused(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code < http.StatusInternalServerError
}

// boundThere says whether the pod is on the node already, as it is when a call
// was repeated after its answer was lost.
func (e *Extender) boundThere(ctx context.Context, pod *cluster.Pod, node string) bool {
	there, err := e.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	return err == nil && there.UID == pod.UID && there.Spec.NodeName == node
}

// encode writes a small answer.
func (e *Extender) encode(c *call, answer any) error {
	encoded, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	c.reply.Raw(encoded)
	return nil
}

// bindTime is how long the API server may take to bind a pod: well within the time for which
// the pod counts on its node by assumption, so that its room is not given away meanwhile.
func bindTime(timeouts v1alpha2.Timeouts) time.Duration {
	return min(timeouts.Bind.Duration, timeouts.Assume.Duration/2)
}
