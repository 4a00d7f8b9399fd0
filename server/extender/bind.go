package extender

import (
	"context"
	"errors"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/gang"
)

// answerBind answers bind calls by a way to bind pods, which returns what it found also with an error.
func answerBind(log *slog.Logger, bind func(*request) (report, error)) func(*request, *memory) (report, error) {
	return func(q *request, m *memory) (report, error) {
		found, err := bind(q)
		found.outcome = outcomeOf(q.ctx, err)
		switch found.outcome {
		case outcomeOK:
			return found, m.encode(extenderv1.ExtenderBindingResult{})
		case outcomeKept: // by the hundred, and nothing is wrong
		case outcomeGone:
			log.Debug("the pod to bind is gone", "pod", q.fullName(), "node", q.node, "err", err)
		default:
			log.Warn("bind failed", "pod", q.fullName(), "profile", found.profile(), "class", found.class(), "node", q.node, "err", err)
		}
		return found, m.encode(extenderv1.ExtenderBindingResult{Error: told(err)})
	}
}

// outcomeOf returns the outcome of a bind call whose pod was not bound for an error, or nil.
func outcomeOf(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return outcomeOK
	case errors.Is(err, gang.ErrKept):
		return outcomeKept
	case errors.Is(err, errNotThere), apierrors.IsNotFound(err):
		return outcomeGone
	case ctx.Err() != nil:
		return outcomeCanceled
	default:
		return outcomeError
	}
}

// bindNowhere binds no pod, as there is no API server.
func bindNowhere(*request) (report, error) { return report{}, errSnapshot }

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
