package attack

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
)

const (
	// endlessly is how many questions a tenant asks, and askers how many of them at a time.
	endlessly = 3000
	askers    = 20
	// heard is how many of its answers are read at least.
	heard = 20
	// secret begins the names of what is not the tenant's to know: pods of others, and nodes.
	secret = "secret"
)

// inquiry tells how questions of a tenant fared, and one of others beside them.
type inquiry struct {
	asked    int      // questions of the tenant
	before   int      // how many of these were answered when the one of others was
	answered bool     // that of others
	texts    []string // of the answers to the tenant
}

func (i inquiry) judge() verdict {
	for _, text := range i.texts {
		for _, name := range []string{secret, othersNamespace + "/"} {
			if at := strings.Index(text, name); at >= 0 {
				return succeeded("an answer names what is not the tenant's: %q", text[max(0, at-40):min(len(text), at+40)])
			}
		}
	}
	switch {
	case !i.answered:
		return succeeded("a question of others was not answered beside %d of a tenant", i.asked)
	case i.before == i.asked:
		return succeeded("a question of others was answered after all %d of a tenant", i.asked)
	}
	return held("a question of others was answered when %d of %d of a tenant were; %d answers name nothing of others",
		i.before, i.asked, len(i.texts))
}

// endlessQuestions asks about its own pods, and about others' as if they were its own.
func endlessQuestions() Attack {
	return plan[inquiry]{
		name: "endless-questions", by: Tenant,
		tries: "to keep others from answers, and to learn of their pods and of nodes, by thousands of questions",
		check: inquiry.judge,
		successes: []inquiry{
			{asked: 9, before: 2},
			{asked: 9, before: 9, answered: true},
			{asked: 9, answered: true, texts: []string{"it waits", "node secret-0 lacks 1 cpu"}},
			{asked: 9, answered: true, texts: []string{"its places were needed by others/train"}},
		},
		do: func(ctx context.Context, g *ground) (i inquiry, err error) {
			pods, err := g.stage(ctx, newNodes(secret, 3, "4"),
				newPod(othersNamespace, secret+"-pod", "9"), newPod(othersNamespace, secret+"-bound", "2", on(secret+"-0")),
				newPod(othersNamespace, secret+"-member", "1", memberOf(secret+"-gang", 2)))
			if err != nil {
				return i, err
			}
			if _, err := g.createAs(ctx, g.tenant, newPod(tenantNamespace, "wide", "7"), newPod(tenantNamespace, "crew-0", "3", memberOf("crew", 2)),
				newPod(tenantNamespace, "crew-1", "7", memberOf("crew", 2))); err != nil {
				return i, err
			}
			about := []string{
				"pod/wide", "gang/crew", "pod/crew-0", "pod/" + secret + "-pod", "gang/" + secret + "-gang", "pod/" + secret + "-bound", "pod/nothing",
			}
			asking, limited := errgroup.WithContext(ctx)
			asking.SetLimit(askers)
			for n := range endlessly {
				asking.Go(func() error {
					return ask(limited, g.tenant.dynamic, tenantNamespace, fmt.Sprint("q-", n), about[n%len(about)])
				})
			}
			if err := asking.Wait(); err != nil {
				return i, err
			}
			if err := ask(ctx, g.dynamic, othersNamespace, "why", "pod/"+pods[secret+"-pod"].Name); err != nil {
				return i, err
			}
			i.answered = eventually(ctx, "a question of others is answered", func() error {
				answers, _, err := answersOf(ctx, g.dynamic, othersNamespace)
				if err == nil && len(answers) == 0 {
					err = errors.New("it is not")
				}
				return err
			}) == nil
			if _, i.before, err = answersOf(ctx, g.tenant.dynamic, tenantNamespace); err != nil {
				return i, err
			}
			i.asked = endlessly
			return i, eventually(ctx, "the tenant has answers to read", func() error {
				i.texts, _, err = answersOf(ctx, g.tenant.dynamic, tenantNamespace)
				if err == nil && len(i.texts) < heard {
					err = fmt.Errorf("there are %d", len(i.texts))
				}
				return err
			})
		},
	}.attack()
}

// ask creates a question.
func ask(ctx context.Context, as dynamic.Interface, namespace, name, about string) error {
	question, err := explanationv1alpha1.Encode(&explanationv1alpha1.Question{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: explanationv1alpha1.QuestionSpec{About: about},
	})
	if err != nil {
		return err
	}
	_, err = as.Resource(explanationv1alpha1.Questions()).Namespace(namespace).Create(ctx, question, metav1.CreateOptions{})
	return err
}

// answersOf returns all that answers of a namespace say, and how many there are. What was asked is the asker's own: an answer may
// repeat it.
func answersOf(ctx context.Context, as dynamic.Interface, namespace string) (texts []string, count int, err error) {
	list, err := as.Resource(explanationv1alpha1.Questions()).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, 0, err
	}
	for i := range list.Items {
		question, err := explanationv1alpha1.Decode(&list.Items[i])
		if err != nil {
			return nil, 0, err
		}
		if question.Status.AnsweredAt == nil {
			continue
		}
		_, named := question.Spec.Subject()
		count++
		texts = append(texts, strings.ReplaceAll(fmt.Sprintf("%+v %+v", question.Status, question.Status.Refusals), namespace+"/"+named, "it"))
	}
	return texts, count, nil
}
