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
)

// bind puts a pod on the node that the scheduler picked. The pod's UID goes along
// as a precondition, so that a pod of the same name is never bound instead. A pod
// that is on that node already is a success.
func (e *Extender) bind(c *call) error {
	var args extenderv1.ExtenderBindingArgs
	if err := json.Unmarshal(c.body, &args); err != nil {
		return badRequest(err)
	}
	for field, value := range map[string]string{
		"PodName": args.PodName, "PodNamespace": args.PodNamespace, "PodUID": string(args.PodUID), "Node": args.Node,
	} {
		if value == "" {
			return badRequest(fmt.Errorf("%s: missing", field))
		}
	}
	c.args.Pod.Namespace, c.args.Pod.Name, c.args.Pod.UID, c.node = args.PodNamespace, args.PodName, args.PodUID, args.Node
	if pod := e.cluster.PendingPod(args.PodUID); pod != nil {
		c.profile, c.subject, c.store = pod.Spec.SchedulerName, pod, e.profiles.Of(pod.Spec.SchedulerName)
	}

	result := extenderv1.ExtenderBindingResult{}
	if err := e.bindPod(c, &args); err != nil {
		c.outcome = outcomeError
		if c.ctx.Err() != nil {
			c.outcome = outcomeCanceled
		}
		result.Error = err.Error()
		e.log.Warn("bind failed", "pod", args.PodNamespace+"/"+args.PodName, "profile", c.profile, "class", c.class(), "node", args.Node, "err", err)
	}
	return e.encode(c, result)
}

var errSnapshot = errors.New("muster serves a snapshot of a cluster (--snapshot): there is no API server to bind in")

func (e *Extender) bindPod(c *call, args *extenderv1.ExtenderBindingArgs) error {
	if e.client == nil {
		return errSnapshot
	}
	return e.flights.do(c.ctx, args.PodUID, args.Node, func() error { return e.bindOnce(c, args) })
}

// bindOnce binds a pod about which there is no other call.
func (e *Extender) bindOnce(c *call, args *extenderv1.ExtenderBindingArgs) error {
	if node := e.cluster.Assumed(args.PodUID); node != "" && node != args.Node {
		return fmt.Errorf("the pod counts on node %s, which is its place or to which it may have been bound already", node)
	}
	if pod := e.cluster.PendingPod(args.PodUID); pod != nil {
		if err := e.assume(pod, args.Node); err != nil {
			return err
		}
	}
	if e.gangs != nil {
		if err := e.gangs.Permit(c.ctx, args.PodUID, args.Node); err != nil {
			return err
		}
	}
	err := e.bindNow(c, args)
	if e.gangs != nil {
		e.gangs.Bound(args.PodUID, err)
	}
	return err
}

// bindNow has the API server bind a pod, also when the caller goes away meanwhile: members of a
// gang that has started are all bound, though the scheduler dies in that moment.
func (e *Extender) bindNow(c *call, args *extenderv1.ExtenderBindingArgs) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), e.bindTime)
	defer cancel()
	e.cluster.Bind(args.PodUID, args.Node, e.bindTime+unanswered)
	started := time.Now()
	err := e.client.CoreV1().Pods(args.PodNamespace).Bind(ctx, &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID},
		Target:     corev1.ObjectReference{Kind: "Node", Name: args.Node},
	}, metav1.CreateOptions{})
	if err != nil && (apierrors.IsConflict(err) || !refused(err)) && e.boundThere(ctx, args) {
		err = nil
	}
	c.binding = time.Since(started)
	switch {
	case err == nil:
		e.cluster.Renew(args.PodUID)
	case refused(err):
		e.cluster.Refuse(args.PodUID)
	default:
		e.cluster.Bind(args.PodUID, args.Node, unanswered)
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

// assume counts the pod on its node from here on, where choose has not done so. The scheduler has
// decided and keeps its own books: what it does not know is room that a plan has come to
// keep since filter answered. That stays with whom it is kept for.
func (e *Extender) assume(pod *cluster.Pod, name string) error {
	if e.cluster.Assumed(pod.UID) == name {
		return nil
	}
	for {
		snap := e.cluster.Snapshot()
		node := snap.NodeByName(name)
		if node == nil {
			return nil
		}
		if e.takesHole(pod, node, snap) {
			return fmt.Errorf("the room on node %s is kept for a pod that a ReschedulingPlan moves", name)
		}
		if !errors.Is(e.cluster.Assume(pod, node), cluster.ErrNodeChanged) {
			return nil
		}
	}
}

// boundThere says whether the pod is on the node already, as it is when a call
// was repeated after its answer was lost.
func (e *Extender) boundThere(ctx context.Context, args *extenderv1.ExtenderBindingArgs) bool {
	pod, err := e.client.CoreV1().Pods(args.PodNamespace).Get(ctx, args.PodName, metav1.GetOptions{})
	return err == nil && pod.UID == args.PodUID && pod.Spec.NodeName == args.Node
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
