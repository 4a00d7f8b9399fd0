package status

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// recorded are the events of a recorder that nobody has read yet.
func recorded(recorder *events.FakeRecorder) []string {
	var all []string
	for {
		select {
		case event := <-recorder.Events:
			all = append(all, event)
		default:
			return all
		}
	}
}

func newPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)}}
}

func TestWhatIsRememberedOfEventsIsBounded(t *testing.T) {
	e := NewEvents(nil)
	for i := range maxTold + 1 {
		if !e.isNews(types.UID(strconv.Itoa(i)), Waiting, "3 of 4") {
			t.Fatalf("event %d is taken for old", i)
		}
	}
	if lately, words := e.lately.ItemCount(), e.words.ItemCount(); lately > maxTold || words > maxTold {
		t.Errorf("%d events and %d words are remembered after %d, want at most %d", lately, words, maxTold+1, maxTold)
	}
}

func TestEventsDoNotRepeatThemselves(t *testing.T) {
	synctest.Test(t, checkRepetitions)
}

func checkRepetitions(t *testing.T) {
	recorder := events.NewFakeRecorder(100)
	e := NewEvents(func(string) events.EventRecorder { return recorder })
	group, pod := newPodGroup(v1alpha1.PodGroupStatus{}), newPod("p")
	steps := []struct {
		name   string
		after  time.Duration
		about  Object
		reason Reason
		words  string
		want   []string
	}{
		{"the first words", 0, group, Unschedulable, "no node", []string{"Warning Unschedulable no node"}},
		{"the same words", 0, group, Unschedulable, "no node", nil},
		{"other words for the same reason", quiet, group, Unschedulable, "no room", nil},
		{"another reason", 0, group, Waiting, "100% of 3", []string{"Normal Waiting 100% of 3"}},
		{"another object", 0, pod, Unschedulable, "no node", []string{"Warning Unschedulable no node"}},
		{"other words after a while", 1, group, Unschedulable, "no room", []string{"Warning Unschedulable no room"}},
		{"the same words after a while", repeat, group, Unschedulable, "no room", nil},
		{"the same words after a long while", 1, group, Unschedulable, "no room", []string{"Warning Unschedulable no room"}},
	}
	for _, step := range steps {
		<-time.After(step.after)
		e.Tell("", step.about, nil, step.reason, step.words)
		if diff := cmp.Diff(step.want, recorded(recorder)); diff != "" {
			t.Errorf("%s: events, want (-) got (+):\n%s", step.name, diff)
		}
	}
}

func TestOfManyWhoTellTheSameAtOnceOneIsHeard(t *testing.T) {
	e := NewEvents(nil)
	var heard atomic.Int32
	var telling sync.WaitGroup
	for range 50 {
		telling.Go(func() {
			if e.isNews("p", Waiting, "3 of 4") {
				heard.Add(1)
			}
		})
	}
	telling.Wait()
	if got := heard.Load(); got != 1 {
		t.Errorf("%d events, want 1", got)
	}
}

func TestEventsThatAreOldAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := NewEvents(nil)
		for i := range 100 {
			e.isNews(types.UID(strconv.Itoa(i)), Waiting, "3 of 4")
		}
		<-time.After(repeat + 1)
		e.isNews("late", Waiting, "3 of 4")
		if lately, words := e.lately.ItemCount(), e.words.ItemCount(); lately > 2 || words > 1 {
			t.Errorf("%d events and %d words are remembered, want no more than of the last event", lately, words)
		}
	})
}

func TestAnEventNamesItsObjectsAndItsSchedulerAndIsNeverTooLong(t *testing.T) {
	client := fake.NewClientset()
	recorders, err := NewRecorders(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	watch, err := client.EventsV1().Events("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	e := NewEvents(recorders)
	e.Tell("batch", newPod("p"), newPodGroup(v1alpha1.PodGroupStatus{}), Unschedulable, "a"+strings.Repeat("ä", maxNote))

	type summary struct{ Type, Reason, Action, By, About, Related string }
	got := (<-watch.ResultChan()).Object.(*eventsv1.Event)
	want := summary{"Warning", "Unschedulable", "Scheduling", "batch", "v1 Pod default/p", "scheduling.x-k8s.io/v1alpha1 PodGroup default/g"}
	if diff := cmp.Diff(
		want, summary{got.Type, got.Reason, got.Action, got.ReportingController, reference(&got.Regarding), reference(got.Related)},
	); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
	fits := len(got.Note) <= maxNote && len(got.Note) >= maxNote-utf8.UTFMax
	if !fits || !utf8.ValidString(got.Note) || !strings.HasSuffix(got.Note, "ä …") {
		t.Errorf("a note of %d bytes that ends with %q", len(got.Note), got.Note[max(0, len(got.Note)-10):])
	}
}

func TestAnEventThatIsOfNoProfileIsReportedByMuster(t *testing.T) {
	recorder, by := events.NewFakeRecorder(100), ""
	e := NewEvents(func(name string) events.EventRecorder {
		by = name
		return recorder
	})
	e.Tell("", newPod("p"), nil, Unschedulable, "no node")
	if got := recorded(recorder); len(got) != 1 || by != "muster" {
		t.Errorf("%q reports %v, want muster to report one event", by, got)
	}
}

func reference(to *corev1.ObjectReference) string {
	if to == nil {
		return ""
	}
	return to.APIVersion + " " + to.Kind + " " + to.Namespace + "/" + to.Name
}
