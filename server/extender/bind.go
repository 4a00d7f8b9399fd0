package extender

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/gang"
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
	switch err := e.binder.bind(c); {
	case err == nil:
	case errors.Is(err, gang.ErrKept): // by the hundred, and nothing is wrong
		c.outcome, result.Error = outcomeKept, told(err)
	case errors.Is(err, errNotThere), apierrors.IsNotFound(err):
		c.outcome, result.Error = outcomeGone, told(err)
		e.calls.log.Debug("the pod to bind is gone", "pod", args.PodNamespace+"/"+args.PodName, "node", args.Node, "err", err)
	default:
		c.outcome, result.Error = outcomeError, told(err)
		if c.ctx.Err() != nil {
			c.outcome = outcomeCanceled
		}
		e.calls.log.Warn(
			"bind failed", "pod", args.PodNamespace+"/"+args.PodName, "profile", c.profile(), "class", c.class(), "node", args.Node, "err", err,
		)
	}
	return c.encode(result)
}

// Why a pod is not bound, besides what predicates say.
var (
	errSnapshot  = errors.New("muster serves a snapshot of a cluster (--snapshot): there is no API server to bind in")
	errNotThere  = errors.New("no pod of this name and UID waits for a node")
	errElsewhere = errors.New("the pod is on another node already")
	errNoProfile = errors.New("no profile of muster has the pod's scheduler name")
	errNotAsked  = errors.New("filter has not offered this node for the pod: it has to be asked first, and again after a restart of muster")
	errNodeGone  = errors.New("the node is gone")
	errRestless  = errors.New("the cluster changes faster than the pod can be judged")
	errConflict  = errors.New("the API server says that the pod is bound already, or another one by now")
)

// told returns the text of an error for a caller. The API server's words about a conflict have UIDs in them, which a
// caller who does not know them must not learn.
func told(err error) string {
	if apierrors.IsConflict(err) {
		return errConflict.Error()
	}
	return err.Error()
}
