package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/questions"
	"muster.dev/muster/server/remote/forward"
)

// askedByQuestion is a part of what commands say of themselves that ask about pods and gangs.
const askedByQuestion = `

Who may not reach muster is told of pod/NAME, and by 'muster why' of gang/NAME, in a namespace in
which they may create a Question: muster answers it there, and names nothing of others.`

// answered is the answer to a Question, for people who cannot reach muster.
type answered struct{ v1alpha1.QuestionStatus }

// Text implements [inspect.Answer].
func (a answered) Text(t *inspect.Table) {
	for line := range strings.Lines(a.QuestionStatus.Text) {
		t.Row(strings.TrimSuffix(line, "\n"))
	}
}

// Placed says that what was asked about does not wait, or that there is a node for it.
func (a answered) Placed() bool { return a.Outcome == v1alpha1.GoesOn }

// Everything is the same: nothing more is told.
func (a answered) Everything() inspect.Answer { return a }

// denied reports whether muster cannot be asked for want of rights in its namespace.
func (a *asked) denied(err error) bool {
	_, denied := errors.AsType[*forward.DeniedError](err)
	return denied && a.cluster != nil
}

// question asks by an object, as muster itself cannot be asked for a reason. It tells people of it while they wait.
func (a *asked) question(
	ctx context.Context, cmd *cobra.Command, namespace string, about v1alpha1.QuestionSpec, instead error,
) (answered, error) {
	objects, err := dynamic.NewForConfig(a.cluster.Config)
	if err != nil {
		return answered{}, err
	}
	asker := &questions.Asker{Objects: objects, Asked: func(name string) {
		a.by = fmt.Sprintf("the muster of %s, by Question %s", a.cluster, name)
		fmt.Fprintf(cmd.ErrOrStderr(),
			"you may not reach muster, so it is asked by Question %s; waiting for up to %s\n", name, questions.Patience)
	}}
	question, err := asker.Ask(ctx, namespace, about)
	if err != nil {
		return answered{}, fmt.Errorf("%w; %w", instead, err)
	}
	if question.Status.Outcome == v1alpha1.NotFound {
		return answered{}, errors.New(inspect.Printable(question.Status.Summary))
	}
	return answered{question.Status}, nil
}
