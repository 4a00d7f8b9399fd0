package status

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
)

const (
	// quiet is how long an object has no second event about the same group.
	quiet = time.Minute
	// patience is how long a reason that passes by itself stays untold.
	patience = 10 * time.Second
	// repeat is when the same reason is told again, before the API server forgets it.
	repeat = 30 * time.Minute
	// remembered is how long it is known what was told last.
	remembered = 24 * time.Hour
	// maxTold bounds what is remembered. Beyond it what was told more than a minute ago is forgotten first, and then nobody
	// else is told anything.
	maxTold = 20_000
	// maxNote is how many bytes of words an event may have.
	maxNote = 1024
	// action is kube-scheduler's name for muster's action.
	action = "Scheduling"
	// component is who muster is in events that are not about a profile of its.
	component = "muster"
)

// Object is the subject of an event: a pod, a PodGroup or an owner that knows its kind.
type Object interface {
	runtime.Object
	metav1.Object
}

// Event is a reason that an object is told of.
type Event struct {
	// SchedulerName is the scheduler that reports it; muster does when it is "".
	SchedulerName string
	About         Object
	// Related is nil or what else it concerns.
	Related Object
	// Group names the group that it is about, where the object may have several; "" else.
	Group  string
	Reason Reason
	Words  string
	// Ends says that [Scheduled] is news only to whom a reason to wait was told before.
	Ends bool
}

// Events tells people about groups and pods without repeating itself. Its methods are safe
// for concurrent use and return at once.
type Events struct {
	recorders Recorders
	clock     clock.PassiveClock

	mu     sync.Mutex
	topics map[string]*topic
	swept  time.Time
}

// topic has what was told of a group to an object, and what is to be told.
type topic struct {
	told   Reason // None before the first time
	at     time.Time
	due    *Event // nil for nothing
	dueFor time.Time
}

// Recorders returns the recorder of the events that a scheduler reports, by its name.
type Recorders func(schedulerName string) events.EventRecorder

// NewEvents returns Events that are recorded by recorders such as the result of [NewRecorders].
func NewEvents(recorders Recorders, clock clock.PassiveClock) *Events {
	return &Events{recorders: recorders, clock: clock, topics: map[string]*topic{}, swept: clock.Now()}
}

// Tell has an event recorded, now or by [Events.Due]. Of one object and group only one event is recorded a minute, and the
// same reason only twice an hour. What is told in the meantime waits for its minute, and the last reason counts: one that has
// passed by then is never recorded. A reason that passes by itself has to last for some seconds.
func (e *Events) Tell(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	t := e.topic(event.topic(), now)
	switch {
	case t == nil:
		return
	case event.Reason == t.told && now.Before(t.at.Add(repeat)), event.Ends && event.Reason == Scheduled && t.told == None:
		t.due = nil
		return
	case t.due == nil || t.due.Reason != event.Reason:
		t.dueFor = t.at.Add(quiet)
		if earliest := now.Add(event.Reason.patience()); earliest.After(t.dueFor) {
			t.dueFor = earliest
		}
	}
	t.due = &event
	e.record(t, now)
}

// Due records the events whose time has come.
func (e *Events) Due() {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.clock.Now()
	for _, t := range e.topics {
		e.record(t, now)
	}
	if now.Sub(e.swept) >= quiet {
		e.sweep(now, remembered)
	}
}

// forget forgets what was told, and what is to be told, as the object is gone.
func (e *Events) forget(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.topics, event.topic())
}

// record records what is to be told, if its time has come.
func (e *Events) record(t *topic, now time.Time) {
	if t.due == nil || now.Before(t.dueFor) {
		return
	}
	event := *t.due
	t.told, t.at, t.due = event.Reason, now, nil
	var related runtime.Object // nil, and not a nil of some type
	if event.Related != nil {
		related = event.Related
	}
	e.recorders(cmp.Or(event.SchedulerName, component)).
		Eventf(event.About, related, event.Reason.eventType(), event.Reason.String(), action, "%s", shorten(event.Words))
}

// topic returns what is known of a topic, nil when there are too many others.
func (e *Events) topic(name string, now time.Time) *topic {
	if t := e.topics[name]; t != nil {
		return t
	}
	if len(e.topics) >= maxTold && now.Sub(e.swept) >= time.Second {
		e.sweep(now, quiet)
	}
	if len(e.topics) >= maxTold {
		return nil
	}
	t := &topic{}
	e.topics[name] = t
	return t
}

// sweep forgets what was told longer ago than some time.
func (e *Events) sweep(now time.Time, age time.Duration) {
	e.swept = now
	maps.DeleteFunc(e.topics, func(_ string, t *topic) bool { return t.due == nil && now.Sub(t.at) > age })
}

// topic names the object and the group. What is no reason to wait is told whatever was said before.
func (e *Event) topic() string {
	name := e.About.GetNamespace() + "/" + string(e.About.GetUID()) + "/" + e.Group
	if e.Reason.beside() {
		name += "/" + e.Reason.String()
	}
	return name
}

// shorten cuts words down to what an event may have.
func shorten(words string) string {
	const more = " …"
	if len(words) <= maxNote {
		return words
	}
	end := maxNote - len(more)
	for !utf8.RuneStart(words[end]) {
		end--
	}
	return words[:end] + more
}

// NewRecorders returns recorders that create events through a client, in the background,
// until the context ends.
func NewRecorders(ctx context.Context, client kubernetes.Interface) (Recorders, error) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, broadcaster.Shutdown)
	return func(schedulerName string) events.EventRecorder {
		return broadcaster.NewRecorder(scheme.Scheme, schedulerName)
	}, nil
}
