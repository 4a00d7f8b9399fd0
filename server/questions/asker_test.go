package questions

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/api/explanation/v1alpha1"
)

// newObjects returns an API server that gives a question its name.
func newObjects() *fake.FakeDynamicClient {
	objects := fake.NewSimpleDynamicClientWithCustomListKinds(
		runtime.NewScheme(), map[schema.GroupVersionResource]string{v1alpha1.Questions(): "QuestionList"},
	)
	objects.PrependReactor("create", v1alpha1.Resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		action.(clienttesting.CreateAction).GetObject().(*unstructured.Unstructured).SetName("why-x")
		return false, nil, nil
	})
	return objects
}

func TestAnAskerIsAnsweredAndLeavesNothing(t *testing.T) {
	resource := v1alpha1.Questions().GroupResource()
	for name, test := range map[string]struct {
		after  time.Duration // the answer comes
		create error
		want   string // of the error
	}{
		"at once":    {after: time.Second},
		"at last":    {after: Patience - time.Second},
		"never":      {after: time.Hour, want: "In its namespace 0 questions wait with it and 0 answers stand, 100 at most"},
		"no kind":    {create: apierrors.NewNotFound(resource, ""), want: "no CustomResourceDefinition questions."},
		"no right":   {create: apierrors.NewForbidden(resource, "", nil), want: "you may not create one in namespace lab"},
		"no network": {create: errors.New("cut"), want: "ask by a Question: cut"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := newObjects()
				if test.create != nil {
					objects.PrependReactor("create", v1alpha1.Resource, func(clienttesting.Action) (bool, runtime.Object, error) {
						return true, nil, test.create
					})
				}
				lab := objects.Resource(v1alpha1.Questions()).Namespace("lab")
				asked := ""
				asker := &Asker{Objects: objects, Asked: func(name string) {
					asked = name
					time.AfterFunc(test.after+time.Millisecond, func() {
						object, err := lab.Get(context.Background(), "why-x", metav1.GetOptions{})
						if err != nil {
							return // it is over
						}
						object.Object["status"] = map[string]any{"answeredAt": "2030-01-01T00:00:00Z", "summary": "it waits"}
						if _, err := lab.Update(context.Background(), object, metav1.UpdateOptions{}); err != nil {
							t.Error(err)
						}
					})
				}}
				got, err := asker.Ask(t.Context(), "lab", v1alpha1.About(v1alpha1.Gang, "train"))
				switch {
				case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
					t.Errorf("error %v, want %q", err, test.want)
				case test.want == "" && (err != nil || got.Status.Summary != "it waits" || asked != "lab/why-x"):
					t.Errorf("answered %+v of %s, error %v", got, asked, err)
				}
				left, err := lab.List(t.Context(), metav1.ListOptions{})
				if err != nil || len(left.Items) > 0 {
					t.Errorf("%d questions are left, error %v", len(left.Items), err)
				}
				time.Sleep(time.Hour) // in a bubble
			})
		})
	}
}

func TestAnAskerThatIsInterruptedLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		objects := newObjects()
		ctx, cancel := context.WithCancel(t.Context())
		asker := &Asker{Objects: objects, Asked: func(string) { cancel() }}
		if _, err := asker.Ask(ctx, "lab", v1alpha1.About(v1alpha1.Pod, "web")); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		left, err := objects.Resource(v1alpha1.Questions()).Namespace("lab").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(left.Items) > 0 {
			t.Errorf("%d questions are left, error %v", len(left.Items), err)
		}
	})
}
