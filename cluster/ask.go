package cluster

import (
	"context"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// askEvery is the least time between two questions.
	askEvery = 50 * time.Millisecond
	// askTimeout is how long an answer may take.
	askTimeout = 5 * time.Second
)

// FindOwner looks an object up where all of them are, and returns its UID, "" when there is none. The error is NotFound where
// there are no objects of the kind at all.
type FindOwner func(ctx context.Context, kind schema.GroupKind, name types.NamespacedName) (types.UID, error)

// answer says what the API server knows of an owner. A metric has its values.
type answer string

const (
	answerPresent answer = "present"
	answerAbsent  answer = "absent"
	answerDenied  answer = "denied"
	answerFailed  answer = "failed"
)

func answers() []answer { return []answer{answerPresent, answerAbsent, answerDenied, answerFailed} }

// answered says what an answer means to a question. Who only names an object waits for it wherever it can be made.
func (q *question) answered(uid types.UID, err error) answer {
	switch {
	case apierrors.IsForbidden(err):
		return answerDenied
	case apierrors.IsNotFound(err):
		return answerAbsent
	case err != nil:
		return answerFailed
	case q.UID == "" || q.UID == uid:
		return answerPresent
	default:
		return answerAbsent
	}
}

// ask asks about owners that no watch has shown, one after the other, until the context ends. It takes the lock.
func (o *Owners) ask(ctx context.Context, find FindOwner) {
	pace := time.NewTicker(askEvery)
	defer pace.Stop()
	for {
		o.mu.Lock()
		one := o.questions.next()
		o.mu.Unlock()
		if one == nil {
			select {
			case <-ctx.Done():
				return
			case <-o.questions.ready:
			}
			continue
		}
		o.askOne(ctx, one, find)
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
	}
}

func (o *Owners) askOne(ctx context.Context, one *question, find FindOwner) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	uid, err := find(asking, one.GroupKind, one.NamespacedName)
	cancel()
	if ctx.Err() != nil {
		return
	}
	learnt := one.answered(uid, err)
	o.metrics.ownersAsked.WithLabelValues(string(learnt)).Inc()
	if learnt == answerFailed {
		o.log.Debug("cannot ask for an owner of pods", slog.String("owner", one.String()), slog.Any("err", err))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.questions.raised(one): // a watch has shown it, or the pods are gone
	case o.questions.outdated(one): // it may be there since
		o.questions.putOff(one)
	case learnt == answerAbsent || learnt == answerDenied:
		o.affiliate(o.questions.settle(one))
	default:
		o.questions.putOff(one)
	}
}
