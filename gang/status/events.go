package status

import (
	"cmp"
	"context"
	"hash/maphash"
	"sync"
	"time"
	"unicode/utf8"

	gocache "github.com/patrickmn/go-cache"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
)

const (
	// quiet is how long an object has no second event for the same reason.
	quiet = time.Minute
	// repeat is when the same words are told again, before the API server forgets them.
	repeat = 30 * time.Minute
	// maxTold bounds what is remembered. Beyond it all is forgotten, and may be told again too early.
	maxTold = 20_000
	// maxNote is how many bytes of words an event may have.
	maxNote = 1024
	// action is what muster was doing, by kube-scheduler's name for it.
	action = "Scheduling"
	// component is who muster is in events that are not about a profile of its.
	component = "muster"
)

// Object is what events are about: a pod, or a PodGroup that knows its API group, as a
// decoded one does.
type Object interface {
	runtime.Object
	metav1.Object
}

// Events tells people about groups and pods without repeating itself. Its methods are safe
// for concurrent use and return at once.
type Events struct {
	recorders Recorders
	clock     clock.PassiveClock
	seed      maphash.Seed

	mu   sync.Mutex
	told *gocache.Cache // of told, by the UID of what it is about and the reason
	tidy time.Time      // when what is old is forgotten next
}

type told struct {
	words uint64 // their hash: an attacker who wants others to miss an event does not know the seed
	at    time.Time
}

// Recorders returns the recorder of the events that a scheduler reports, by its name.
type Recorders func(schedulerName string) events.EventRecorder

// NewEvents returns Events that are recorded by recorders such as those of [NewRecorders].
func NewEvents(recorders Recorders, now clock.PassiveClock) *Events {
	return &Events{recorders: recorders, clock: now, seed: maphash.MakeSeed(), told: gocache.New(repeat, 0)}
}

// Tell records an event about an object; related is nil or what else it concerns. It is
// reported by the scheduler of a name, or by muster when that is "". Of one
// object and reason only one event is recorded a minute, and the same words only twice an
// hour. About one version of an object the API server keeps the first words of a few
// minutes, and how often there were others.
func (e *Events) Tell(schedulerName string, about, related Object, reason Reason, words string) {
	if !e.isNews(about.GetUID(), reason, words) {
		return
	}
	var other runtime.Object // nil, and not a nil of some type
	if related != nil {
		other = related
	}
	e.recorders(cmp.Or(schedulerName, component)).Eventf(about, other, reason.eventType(), string(reason), action, "%s", shorten(words))
}

func (e *Events) isNews(uid types.UID, reason Reason, words string) bool {
	now, hash, topic := e.clock.Now(), maphash.String(e.seed, words), string(uid)+"/"+string(reason)
	e.mu.Lock()
	defer e.mu.Unlock()
	if last, ok := e.told.Get(topic); ok {
		last := last.(told)
		if age := now.Sub(last.at); age < quiet || (age < repeat && last.words == hash) {
			return false
		}
	}
	e.forget(now)
	e.told.SetDefault(topic, told{hash, now})
	return true
}

// forget bounds what is remembered, in number and in time.
func (e *Events) forget(now time.Time) {
	if e.told.ItemCount() >= maxTold {
		e.told.Flush()
	}
	if !now.Before(e.tidy) {
		e.told.DeleteExpired()
		e.tidy = now.Add(quiet)
	}
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
