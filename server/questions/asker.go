package questions

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/api/explanation/v1alpha1"
)

const (
	// Patience is how long an Asker waits for an answer.
	Patience = time.Minute
	// looks is how often it looks for one.
	looks = 500 * time.Millisecond
)

// Asker asks as people do who cannot reach muster.
type Asker struct {
	Objects dynamic.Interface
	// Asked is told of a question once it is there.
	Asked func(name string)
}

// Ask asks in a namespace, waits for the answer, and deletes the question, whatever comes of it.
func (a *Asker) Ask(ctx context.Context, namespace string, about v1alpha1.QuestionSpec) (*v1alpha1.Question, error) {
	question, err := v1alpha1.Encode(&v1alpha1.Question{ObjectMeta: metav1.ObjectMeta{GenerateName: "why-"}, Spec: about})
	if err != nil {
		return nil, err
	}
	objects := a.Objects.Resource(v1alpha1.Questions()).Namespace(namespace)
	question, err = objects.Create(ctx, question, metav1.CreateOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("ask by a Question: the cluster has no CustomResourceDefinition %s, or no namespace %s",
			v1alpha1.Questions().GroupResource(), namespace)
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("ask by a Question: you may not create one in namespace %s: %w", namespace, err)
	case err != nil:
		return nil, fmt.Errorf("ask by a Question: %w", err)
	}
	name := question.GetName()
	a.Asked(namespace + "/" + name)
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		_ = objects.Delete(ending, name, metav1.DeleteOptions{}) // muster deletes what is left
	}()
	var answered *v1alpha1.Question
	err = wait.PollUntilContextTimeout(ctx, looks, Patience, false, func(ctx context.Context) (bool, error) {
		object, err := objects.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return false, fmt.Errorf("somebody has deleted Question %s/%s before it was answered", namespace, name)
		case apierrors.IsForbidden(err):
			return false, fmt.Errorf("you may create a Question in namespace %s, and not get it: %w", namespace, err)
		case err != nil:
			return false, nil //nolint:nilerr // it may answer the next time
		}
		answered, err = v1alpha1.Decode(object)
		return err == nil && answered.Status.AnsweredAt != nil, err
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return nil, a.unanswered(ctx, objects, namespace+"/"+name)
	}
	if err != nil {
		return nil, err
	}
	return answered, nil
}

// unanswered says what may be the matter when nobody answers.
func (a *Asker) unanswered(ctx context.Context, objects dynamic.ResourceInterface, name string) error {
	why := fmt.Sprintf("no muster has answered Question %s within %s: is there one that leads ('muster status' tells who may ask it), "+
		"is it of a release that answers, and has it the right to ('muster preflight')", name, Patience)
	all, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("%s? to see whether others wait, too, failed: %w", why, err)
	}
	answers := 0
	for i := range all.Items {
		if question, err := v1alpha1.Decode(&all.Items[i]); err == nil && question.Status.AnsweredAt != nil {
			answers++
		}
	}
	return fmt.Errorf("%s? In its namespace %d questions wait with it and %d answers stand, %d at most: delete what is read",
		why, len(all.Items)-answers-1, answers, mostAnswers)
}
