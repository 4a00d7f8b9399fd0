package questions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/explanation/v1alpha1"
)

// office is a queue, its answerer, and the objects. It is for a bubble of time.
type office struct {
	*testing.T
	queue    *Queue
	answerer *Answerer

	objects  map[string]*v1alpha1.Question // by namespace/name
	versions int
	answers  []string // namespace/name of what was answered, in order
	deleted  []string
	fails    error                              // of the next write
	takes    time.Duration                      // to find an answer
	meddles  func(asked Asked)                  // before a write
	told     map[string]v1alpha1.QuestionStatus // by namespace/name
}

func newOffice(t *testing.T) *office {
	o := &office{T: t, objects: map[string]*v1alpha1.Question{}, told: map[string]v1alpha1.QuestionStatus{}}
	o.queue = NewQueue(clock.RealClock{})
	o.answerer = &Answerer{
		Logger: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}, Queue: o.queue, Client: o,
		Answer: func(namespace string, asked v1alpha1.QuestionSpec) v1alpha1.QuestionStatus {
			time.Sleep(o.takes) //nolint:forbidigo // in a bubble
			return v1alpha1.QuestionStatus{Outcome: v1alpha1.Waits, Summary: namespace + " " + asked.About}
		},
	}
	return o
}

// show has the watch show an object as it is.
func (o *office) show(q *v1alpha1.Question) {
	object, err := v1alpha1.Encode(q)
	if err != nil {
		o.Fatal(err)
	}
	trimmed, err := o.queue.Handler().Trim(object)
	if err != nil {
		o.Fatal(err)
	}
	o.queue.Handler().Set(trimmed.(metav1.Object))
}

func (o *office) ask(namespace, name string) *v1alpha1.Question {
	o.versions++
	q := &v1alpha1.Question{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(fmt.Sprint("uid-", o.versions)), ResourceVersion: fmt.Sprint(o.versions),
		},
		Spec: v1alpha1.About(v1alpha1.Pod, "web"),
	}
	o.objects[namespace+"/"+name] = q
	o.show(q)
	return q
}

func (o *office) gone(q *v1alpha1.Question) {
	delete(o.objects, q.Namespace+"/"+q.Name)
	o.queue.Handler().Delete(q)
}

// Answer implements Client, as the API server does.
func (o *office) Answer(_ context.Context, asked Asked, status *v1alpha1.QuestionStatus) error {
	if o.meddles != nil {
		o.meddles(asked)
	}
	if err := o.fails; err != nil {
		o.fails = nil
		return err
	}
	q := o.objects[asked.String()]
	switch resource := v1alpha1.Questions().GroupResource(); {
	case q == nil:
		return apierrors.NewNotFound(resource, asked.Name)
	case q.UID != asked.UID || q.ResourceVersion != asked.Version:
		return apierrors.NewConflict(resource, asked.Name, errors.New("it has changed"))
	case q.Status.AnsweredAt != nil:
		o.Errorf("%s is answered twice", asked)
	}
	o.versions++
	q.Status, q.ResourceVersion = *status, fmt.Sprint(o.versions)
	o.answers, o.told[asked.String()] = append(o.answers, asked.String()), *status
	o.show(q)
	return nil
}

// Delete implements Client.
func (o *office) Delete(_ context.Context, asked Asked) error {
	q := o.objects[asked.String()]
	if q == nil || q.UID != asked.UID {
		return apierrors.NewConflict(v1alpha1.Questions().GroupResource(), asked.Name, errors.New("it is another one"))
	}
	o.deleted = append(o.deleted, asked.String())
	o.gone(q)
	return nil
}

// during runs the answerer for a time, and a little longer, so that it does not end when a turn begins.
func (o *office) during(d time.Duration) {
	ctx, cancel := context.WithTimeout(o.Context(), d+time.Millisecond)
	defer cancel()
	o.answerer.Run(ctx)
}

// inOffice runs a test in a bubble of time.
func inOffice(t *testing.T, test func(o *office)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(newOffice(t)) })
}

func TestAQuestionIsAnsweredOnceAndDeletedMinutesLater(t *testing.T) {
	inOffice(t, func(o *office) {
		o.ask("lab", "why")
		o.during(keep)
		answer := o.told["lab/why"]
		if !slices.Equal(o.answers, []string{"lab/why"}) || answer.AnsweredAt == nil || answer.Summary != "lab pod/web" {
			t.Fatalf("answered are %v: %+v", o.answers, answer)
		}
		if len(o.deleted) > 0 {
			t.Errorf("%v are deleted before their time", o.deleted)
		}
		o.during(time.Second)
		if !slices.Equal(o.deleted, []string{"lab/why"}) || len(o.answers) != 1 {
			t.Errorf("deleted are %v, answered %v", o.deleted, o.answers)
		}
	})
}

// A leader reads by its own clock how old an answer is, from when it first saw it: the clock of the one before may be wrong.
func TestAnAnswerOfAnotherLeaderIsKeptForMinutes(t *testing.T) {
	inOffice(t, func(o *office) {
		q := o.ask("lab", "why")
		q.Status.AnsweredAt = &metav1.Time{Time: time.Now().Add(-time.Hour)}
		o.show(q)
		o.during(keep - time.Second)
		if len(o.deleted)+len(o.answers) > 0 {
			t.Errorf("deleted are %v, answered %v", o.deleted, o.answers)
		}
		o.during(2 * time.Second)
		if len(o.deleted) != 1 {
			t.Errorf("deleted are %v", o.deleted)
		}
	})
}

func TestNamespacesTakeTurns(t *testing.T) {
	inOffice(t, func(o *office) {
		for i := range 5000 {
			o.ask("flood", fmt.Sprint("q", i))
		}
		o.during(2 * pace)
		o.ask("lab", "why")
		o.ask("shop", "why")
		before := len(o.answers)
		o.during(4 * pace)
		if got := o.answers[before:]; len(got) != 4 || !slices.Contains(got, "lab/why") || !slices.Contains(got, "shop/why") {
			t.Errorf("answered are %v", got)
		}
		o.during(time.Hour)
		answered := len(o.answers) - 2
		if most := mostAnswers * (int(time.Hour/keep) + 1); answered > most || answered < most/2 {
			t.Errorf("in an hour %d questions of a namespace were answered, and %d may be", answered, most)
		}
	})
}

func TestQuestionsOfANamespaceAreAnsweredInTurnAsOthersGo(t *testing.T) {
	inOffice(t, func(o *office) {
		for i := range mostAnswers + 2 {
			o.ask("lab", fmt.Sprint("q", i))
		}
		o.during(keep / 2)
		if len(o.answers) != mostAnswers || o.answers[0] != "lab/q0" || o.answers[99] != "lab/q99" {
			t.Fatalf("%d are answered: %v", len(o.answers), o.answers)
		}
		o.gone(o.objects["lab/q3"])
		o.during(2 * pace)
		if len(o.answers) != mostAnswers+1 || o.answers[100] != "lab/q100" {
			t.Errorf("answered are %v", o.answers[100:])
		}
	})
}

func TestAnswersThatTakeLongLeaveTimeForOthers(t *testing.T) {
	inOffice(t, func(o *office) {
		o.takes = time.Second
		for i := range 100 {
			o.ask("lab", fmt.Sprint("q", i))
		}
		o.during(time.Minute)
		if most := int(time.Minute / ((1 + rests) * time.Second)); len(o.answers) > most || len(o.answers) < most-1 {
			t.Errorf("%d are answered in a minute, and %d may be", len(o.answers), most)
		}
	})
}

func TestAQuestionThatChangesMeanwhileIsAnsweredAsItIs(t *testing.T) {
	for name, test := range map[string]struct {
		meddles func(o *office, asked Asked)
		want    []string
	}{
		"labelled": {func(o *office, asked Asked) {
			q := o.objects[asked.String()]
			o.versions++
			q.ResourceVersion = fmt.Sprint(o.versions)
			o.show(q)
		}, []string{"lab/why"}},
		"deleted": {func(o *office, asked Asked) { o.gone(o.objects[asked.String()]) }, nil},
		"asked again under its name": {func(o *office, asked Asked) {
			o.gone(o.objects[asked.String()])
			o.ask("lab", "why")
		}, []string{"lab/why"}},
		"replaced, which the watch misses": {func(o *office, _ Asked) { o.ask("lab", "why") }, []string{"lab/why"}},
		"answered by another one": {func(o *office, asked Asked) {
			q := o.objects[asked.String()]
			o.versions++
			q.ResourceVersion, q.Status.AnsweredAt = fmt.Sprint(o.versions), &metav1.Time{Time: time.Now()}
			o.show(q)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inOffice(t, func(o *office) {
				o.ask("lab", "why")
				o.meddles = func(asked Asked) {
					o.meddles = nil
					test.meddles(o, asked)
				}
				o.during(time.Minute)
				if !slices.Equal(o.answers, test.want) {
					t.Errorf("answered are %v, want %v", o.answers, test.want)
				}
			})
		})
	}
}

func TestWhatCannotBeWrittenIsTriedAgainLater(t *testing.T) {
	inOffice(t, func(o *office) {
		o.ask("lab", "why")
		o.fails = apierrors.NewForbidden(v1alpha1.Questions().GroupResource(), "why", errors.New("no right"))
		o.during(retry)
		if len(o.answers) > 0 {
			t.Errorf("answered are %v", o.answers)
		}
		o.during(retry)
		if !slices.Equal(o.answers, []string{"lab/why"}) {
			t.Errorf("answered are %v", o.answers)
		}
	})
}

func TestQuestionsThatComeAndGoLeaveNothing(t *testing.T) {
	inOffice(t, func(o *office) {
		for i := range 1000 {
			q := o.ask(fmt.Sprint("ns", i%10), fmt.Sprint("q", i))
			if i%3 == 0 {
				o.during(2 * pace)
			}
			o.gone(q)
		}
		if q := o.queue; len(q.desks)+q.turns.Len()+q.answered.Len() > 0 {
			t.Errorf("left are %d namespaces, %d turns, %d answers", len(q.desks), q.turns.Len(), q.answered.Len())
		}
		o.ask("lab", "why")
		o.queue.Handler().Drop()
		before := len(o.answers)
		o.during(time.Second)
		if len(o.answers) > before {
			t.Error("a question was answered whose definition is gone")
		}
	})
}

func TestOnlyWhatIsReadOfAQuestionIsKept(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.Group + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{
			"namespace": "lab", "name": "why", "uid": "u", "resourceVersion": "1", "annotations": map[string]any{"a": strings.Repeat("x", 1000)},
		},
		"spec": map[string]any{"about": "gang/train"},
	}}
	trimmed, err := trim(object)
	if err != nil {
		t.Fatal(err)
	}
	q := trimmed.(*v1alpha1.Question)
	if q.Annotations != nil || q.Spec.About != "gang/train" || q.UID != "u" || q.ResourceVersion != "1" || q.Namespace != "lab" {
		t.Errorf("kept is %+v", q)
	}
	object.Object["spec"] = map[string]any{"about": "node/a"}
	trimmed, err = trim(object)
	if err != nil || trimmed.(*v1alpha1.Question).Spec.About != "" {
		t.Errorf("%+v is kept of nonsense, error %v", trimmed, err)
	}
}
