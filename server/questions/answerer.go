package questions

import (
	"context"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/explanation/v1alpha1"
)

const (
	// pace is the time from one answer to the next, at least.
	pace = 250 * time.Millisecond
	// rests is how many times as long as an answer took nothing is answered after it.
	rests = 4
	// retry is when another question is taken after one could not be answered.
	retry = 5 * time.Second
	// mostDeleted is how many questions are deleted between two answers.
	mostDeleted = 2
)

// Client writes answers, and deletes questions, if the object is the one that was seen.
type Client interface {
	Answer(ctx context.Context, asked Asked, status *v1alpha1.QuestionStatus) error
	Delete(ctx context.Context, asked Asked) error
}

// Answerer answers the questions of a Queue. All fields are required.
type Answerer struct {
	Logger *slog.Logger
	Clock  clock.Clock
	Queue  *Queue
	Client Client
	// Answer says what people of a namespace may be told.
	Answer func(namespace string, asked v1alpha1.QuestionSpec) v1alpha1.QuestionStatus
}

// Run answers until the context ends. It is for the leader.
func (a *Answerer) Run(ctx context.Context) {
	rest, failed := pace, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.Clock.After(rest):
		}
		a.clear(ctx)
		took, err := a.turn(ctx)
		rest = max(pace, rests*took)
		if err != nil && ctx.Err() == nil {
			if !failed {
				a.Logger.Warn("cannot answer a question", slog.Any("err", err))
			}
			rest = max(rest, retry)
		}
		failed = err != nil
	}
}

// turn answers the next question, and says how long it took to find the answer. The error says that answers cannot be written.
func (a *Answerer) turn(ctx context.Context) (took time.Duration, err error) {
	asked, waits := a.Queue.next()
	if !waits {
		return 0, nil
	}
	began := a.Clock.Now()
	status := a.Answer(asked.Namespace, asked.Spec)
	now := a.Clock.Now()
	status.AnsweredAt = &metav1.Time{Time: now}
	switch err = a.Client.Answer(ctx, asked, &status); {
	case err == nil:
		a.Queue.wrote(asked)
	case apierrors.IsNotFound(err): // the watch will show it
		return now.Sub(began), nil
	case apierrors.IsConflict(err): // the watch will show what somebody else wrote
		a.Queue.again(asked)
		return now.Sub(began), nil
	default:
		a.Queue.again(asked)
	}
	return now.Sub(began), err
}

// clear deletes questions whose answers people have had time to read.
func (a *Answerer) clear(ctx context.Context) {
	for range mostDeleted {
		asked, over := a.Queue.over()
		if !over {
			return
		}
		if err := a.Client.Delete(ctx, asked); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) && ctx.Err() == nil {
			a.Logger.Warn("cannot delete a question that is answered", slog.Any("err", err))
			return
		}
	}
}
