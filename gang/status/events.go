package status

import (
	"cmp"
	"context"
	"hash/maphash"
	"time"
	"unicode/utf8"

	gocache "github.com/patrickmn/go-cache"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
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
	// action is kube-scheduler's name for muster's action.
	action = "Scheduling"
	// component is who muster is in events that are not about a profile of its.
	component = "muster"
)

// Object is the subject of an event: a pod, or a PodGroup that knows its API group, as a decoded one does.
type Object interface {
	runtime.Object
	metav1.Object
}

// Events tells people about groups and pods without repeating itself. Its methods are safe
// for concurrent use and return at once.
type Events struct {
	recorders Recorders
	seed      maphash.Seed
	// Both are by topic: the UID of what an event is about, and the reason. Nothing sweeps them in the background.
	lately *gocache.Cache // topics with an event within quiet
	words  *gocache.Cache // the hash of the last words within repeat: an attacker who wants others to miss an event does not know the seed
}

// Recorders returns the recorder of the events that a scheduler reports, by its name.
type Recorders func(schedulerName string) events.EventRecorder

// NewEvents returns Events that are recorded by recorders such as the result of [NewRecorders].
func NewEvents(recorders Recorders) *Events {
	return &Events{recorders: recorders, seed: maphash.MakeSeed(), lately: gocache.New(quiet, 0), words: gocache.New(repeat, 0)}
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
	hash, topic := maphash.String(e.seed, words), string(uid)+"/"+string(reason)
	if last, ok := e.words.Get(topic); ok && last == hash {
		return false
	}
	e.forget()
	if e.lately.Add(topic, nil, gocache.DefaultExpiration) != nil {
		return false
	}
	e.words.SetDefault(topic, hash)
	return true
}

// tidied is no topic. While it is among those lately, what has expired is left where it is.
const tidied = "tidied"

// forget bounds what is remembered, in number and in time.
func (e *Events) forget() {
	for _, cache := range []*gocache.Cache{e.lately, e.words} {
		if cache.ItemCount() >= maxTold {
			cache.Flush()
		}
	}
	if e.lately.Add(tidied, nil, gocache.DefaultExpiration) == nil {
		e.lately.DeleteExpired()
		e.words.DeleteExpired()
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
