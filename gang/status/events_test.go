package status

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

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

// telling is Events with a clock that a test moves, and what they recorded.
type telling struct {
	*Events
	*clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
}

func newTelling() *telling {
	t := &telling{FakePassiveClock: clocktesting.NewFakePassiveClock(first()), recorder: events.NewFakeRecorder(100)}
	t.Events = NewEvents(func(string) events.EventRecorder { return t.recorder }, t.FakePassiveClock)
	return t
}

// after lets time pass, and what is due then be recorded.
func (t *telling) after(d time.Duration) {
	t.SetTime(t.Now().Add(d))
	t.Due()
}

func TestWhatIsRememberedOfEventsIsBounded(t *testing.T) {
	e := NewEvents(func(string) events.EventRecorder { return &events.FakeRecorder{} }, clocktesting.NewFakePassiveClock(first()))
	for i := range maxTold + 1 {
		e.Tell(Event{About: newPod(strconv.Itoa(i)), Reason: Unschedulable, Words: "no node"})
	}
	if topics := len(e.topics); topics > maxTold {
		t.Errorf("%d topics are remembered after %d, want at most %d", topics, maxTold+1, maxTold)
	}
}

func TestAGroupHasOneEventAMinuteAndNoneForAReasonThatStays(t *testing.T) {
	group, pod := newPodGroup(v1alpha1.PodGroupStatus{}), newPod("p")
	type step struct {
		name  string
		after time.Duration
		tell  *Event // nil for nothing
		want  []string
	}
	no := func(words string) *Event { return &Event{About: group, Reason: Unschedulable, Words: words} }
	bound := &Event{About: group, Reason: Scheduled, Words: "at least 3 pods are bound"}
	missing := &Event{About: group, Reason: MembersMissing, Words: "2 of 3 exist"}
	for name, steps := range map[string][]step{
		"a reason stays": {
			{"the first time", 0, no("3 nodes"), []string{"Warning Unschedulable 3 nodes"}},
			{"the same words", time.Second, no("3 nodes"), nil},
			{"other words", quiet, no("4 nodes"), nil},
			{"before the API server forgets it", repeat, no("4 nodes"), []string{"Warning Unschedulable 4 nodes"}},
		},
		"another reason waits for its minute": {
			{"the first", 0, no("3 nodes"), []string{"Warning Unschedulable 3 nodes"}},
			{"the second", time.Second, bound, nil},
			{"in time", quiet - 2*time.Second, nil, nil},
			{"its minute is there", time.Second, nil, []string{"Normal Scheduled at least 3 pods are bound"}},
			{"it is told once", quiet, nil, nil},
		},
		"the last word counts": {
			{"the first", 0, no("3 nodes"), []string{"Warning Unschedulable 3 nodes"}},
			{"the second", time.Second, bound, nil},
			{"back again", time.Second, no("4 nodes"), nil},
			{"the second is over", quiet, nil, nil},
		},
		"what passes by itself has to last": {
			{"members are missing", 0, missing, nil},
			{"they are for a while", patience - 1, missing, nil},
			{"they are for long", 1, nil, []string{"Normal MembersMissing 2 of 3 exist"}},
		},
		"what has passed is not told": {
			{"members are missing", 0, missing, nil},
			{"all are there", time.Second, bound, []string{"Normal Scheduled at least 3 pods are bound"}},
			{"later", quiet, nil, nil},
		},
		"each object and group has its own": {
			{"a group", 0, no("3 nodes"), []string{"Warning Unschedulable 3 nodes"}},
			{"a pod", 0, &Event{About: pod, Reason: Unschedulable, Words: "no node"}, []string{"Warning Unschedulable no node"}},
			{
				"a second group of the object", 0, &Event{About: group, Group: "b", Reason: Unschedulable, Words: "no GPU"},
				[]string{"Warning Unschedulable no GPU"},
			},
			{"the pod is evicted", 0, &Event{About: pod, Reason: Preempted, Words: "for g"}, []string{"Normal Preempted for g"}},
		},
		"who heard of no wait need not know that it is over": {
			{"it is bound at once", 0, &Event{About: pod, Reason: Scheduled, Words: "bound", Ends: true}, nil},
			{"it waits", quiet, &Event{About: pod, Reason: TimedOut, Words: "late", Ends: true}, []string{"Warning TimedOut late"}},
			{"it is bound", quiet, &Event{About: pod, Reason: Scheduled, Words: "bound", Ends: true}, []string{"Normal Scheduled bound"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newTelling()
			for _, step := range steps {
				e.after(step.after)
				if step.tell != nil {
					e.Tell(*step.tell)
				}
				if diff := cmp.Diff(step.want, recorded(e.recorder)); diff != "" {
					t.Errorf("%s: events, want (-) got (+):\n%s", step.name, diff)
				}
			}
		})
	}
}

func TestOfManyWhoTellTheSameAtOnceOneIsHeard(t *testing.T) {
	e := newTelling()
	var telling sync.WaitGroup
	for range 50 {
		telling.Go(func() { e.Tell(Event{About: newPod("p"), Reason: Unschedulable, Words: "no node"}) })
	}
	telling.Wait()
	if got := recorded(e.recorder); len(got) != 1 {
		t.Errorf("%d events, want 1", len(got))
	}
}

func TestEventsThatAreOldAreForgotten(t *testing.T) {
	e := newTelling()
	for i := range 100 {
		e.Tell(Event{About: newPod(strconv.Itoa(i)), Reason: Unschedulable, Words: "no node"})
		recorded(e.recorder)
	}
	e.after(remembered + 1)
	if topics := len(e.topics); topics > 0 {
		t.Errorf("%d topics are remembered", topics)
	}
}

// A list that grows has its new reason somewhere in the documents: see docs/concepts/gangs.md.
func TestReasonsHaveNamesThatTheAPITakes(t *testing.T) {
	names := sets.New[string]()
	for _, reason := range Reasons() {
		if !regexp.MustCompile("^[A-Z][A-Za-z]+$").MatchString(reason.String()) || names.Has(reason.String()) {
			t.Errorf("reason %d is called %q", reason, reason)
		}
		names.Insert(reason.String())
	}
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
	e := NewEvents(recorders, clock.RealClock{})
	e.Tell(Event{
		SchedulerName: "batch", About: newPod("p"), Related: newPodGroup(v1alpha1.PodGroupStatus{}), Reason: Unschedulable,
		Words: "a" + strings.Repeat("ä", maxNote),
	})

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
	}, clock.RealClock{})
	e.Tell(Event{About: newPod("p"), Reason: Unschedulable, Words: "no node"})
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
