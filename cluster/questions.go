package cluster

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
)

const (
	// askAfter is how long watches have to show an object before anybody is asked. They lag for less.
	askAfter = time.Second
	// askAgain is how long an object that was found, or could not be looked for, has at most until it is looked for again.
	askAgain = time.Minute
)

// reference names an object for a pod, or for an owner of one. It has no UID where the pod itself only names the object.
type reference struct {
	ownerKey
	types.UID
}

// String names the object.
func (r reference) String() string { return r.GroupKind.String() + " " + r.NamespacedName.String() }

// questions ask whether there are the objects that pods refer to and no watch has shown. All pods that refer to one object ask
// one question, and its answer counts for as long as there is such a pod: an owner is made before its pods, so that one that is
// not there will never be. A user can make up owners of thousands of pods: namespaces ask in turn, so that
// each keeps only itself waiting.
//
// The caller holds the lock of the cluster.
type questions struct {
	clock clock.WithDelayedExecution
	lock  sync.Locker
	about map[reference]*question
	by    map[types.UID][]reference // what a pod asks about
	turns []string                  // namespaces in which a question is due, in their order
	due   map[string][]*question    // by namespace, in their order; withdrawn ones among them
	ready chan struct{}             // has room for a word that a question is due
	epoch map[schema.GroupKind]int  // how often it changed whether objects of a kind can be watched
}

type question struct {
	reference
	pods   sets.Set[types.UID]
	timer  clock.Timer
	asked  int  // how often
	epoch  int  // of its kind, when it was asked last
	absent bool // there is no such object
}

func newQuestions(c clock.WithDelayedExecution, lock sync.Locker) questions {
	return questions{
		clock: c, lock: lock, about: map[reference]*question{}, by: map[types.UID][]reference{}, due: map[string][]*question{},
		ready: make(chan struct{}, 1), epoch: map[schema.GroupKind]int{},
	}
}

// raise has a pod ask about some objects, and about no others any more.
func (q *questions) raise(pod types.UID, about []reference) {
	before := q.by[pod]
	for _, ref := range about {
		one := q.about[ref]
		if one == nil {
			one = &question{reference: ref, pods: sets.New[types.UID]()}
			q.about[ref] = one
			q.putOff(one)
		}
		one.pods.Insert(pod)
	}
	if q.by[pod] = about; len(about) == 0 {
		delete(q.by, pod)
	}
	for _, ref := range before {
		if one := q.about[ref]; !slices.Contains(about, ref) && one.pods.Delete(pod).Len() == 0 {
			q.withdraw(one)
		}
	}
}

// absent reports whether it is known that there is no such object.
func (q *questions) absent(ref reference) bool { return q.about[ref] != nil && q.about[ref].absent }

// putOff has a question be due later, and later each time.
func (q *questions) putOff(one *question) {
	wait := min(askAfter<<min(one.asked, 10), askAgain)
	one.timer = q.clock.AfterFunc(wait, func() {
		q.lock.Lock()
		defer q.lock.Unlock()
		if q.raised(one) {
			q.queue(one)
		}
	})
}

// raised reports whether anybody still waits for an answer.
func (q *questions) raised(one *question) bool { return q.about[one.reference] == one && !one.absent }

func (q *questions) queue(one *question) {
	if len(q.due[one.Namespace]) == 0 {
		q.turns = append(q.turns, one.Namespace)
	}
	q.due[one.Namespace] = append(q.due[one.Namespace], one)
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// next takes a question that is due, of the namespace whose turn it is; nil for none.
func (q *questions) next() *question {
	for len(q.turns) > 0 {
		namespace := q.turns[0]
		q.turns = q.turns[1:]
		waiting := q.due[namespace]
		for len(waiting) > 0 && !q.raised(waiting[0]) {
			waiting = waiting[1:]
		}
		if len(waiting) < 2 {
			delete(q.due, namespace)
		} else {
			q.due[namespace] = waiting[1:]
			q.turns = append(q.turns, namespace)
		}
		if len(waiting) > 0 {
			one := waiting[0]
			one.asked++
			one.epoch = q.epoch[one.GroupKind]
			return one
		}
	}
	return nil
}

// settle notes that there is no such object. It returns the pods that have asked.
func (q *questions) settle(one *question) []types.UID {
	one.absent = true
	return slices.Sorted(maps.Keys(one.pods))
}

// outdate has answers that are under way about objects of a kind say nothing.
func (q *questions) outdate(kind schema.GroupKind) { q.epoch[kind]++ }

// outdated reports whether the answer to a question says nothing any more.
func (q *questions) outdated(one *question) bool { return one.epoch != q.epoch[one.GroupKind] }

// reopen forgets the answers about objects of a kind.
func (q *questions) reopen(kind schema.GroupKind) {
	q.outdate(kind)
	for _, one := range q.about {
		if one.GroupKind == kind && one.absent {
			one.absent, one.asked = false, 0
			q.putOff(one)
		}
	}
}

func (q *questions) withdraw(one *question) {
	delete(q.about, one.reference)
	one.timer.Stop()
}

const (
	// askEvery is the least time between two questions.
	askEvery = 50 * time.Millisecond
	// askTimeout is how long an answer may take.
	askTimeout = 5 * time.Second
)

// FindOwner looks an object up where all of them are, and returns its UID, "" when there is none. The error is NotFound where
// there are no objects of the kind at all.
type FindOwner func(ctx context.Context, kind schema.GroupKind, name types.NamespacedName) (types.UID, error)

// answer says what the API server knows of an owner. A metric has its values.
type answer string

const (
	answerPresent answer = "present"
	answerAbsent  answer = "absent"
	answerDenied  answer = "denied"
	answerFailed  answer = "failed"
)

func answers() []answer { return []answer{answerPresent, answerAbsent, answerDenied, answerFailed} }

// answered says what an answer means to a question. Who only names an object waits for it wherever it can be made.
func (q *question) answered(uid types.UID, err error) answer {
	switch {
	case apierrors.IsForbidden(err):
		return answerDenied
	case apierrors.IsNotFound(err):
		return answerAbsent
	case err != nil:
		return answerFailed
	case q.UID == "" || q.UID == uid:
		return answerPresent
	default:
		return answerAbsent
	}
}

// Asks reports whether a watch may show owners later than their pods, so that [Owners.Ask] has to run.
func (o *Owners) Asks() bool { return o.live && o.affiliator != nil }

// Ask asks about owners that no watch has shown, one after the other, until the context ends.
func (o *Owners) Ask(ctx context.Context, find FindOwner) {
	for {
		o.mu.Lock()
		one := o.questions.next()
		o.mu.Unlock()
		if one == nil {
			select {
			case <-ctx.Done():
				return
			case <-o.questions.ready:
			}
			continue
		}
		o.askOne(ctx, one, find)
		select {
		case <-ctx.Done():
			return
		case <-time.After(askEvery):
		}
	}
}

func (o *Owners) askOne(ctx context.Context, one *question, find FindOwner) {
	asking, cancel := context.WithTimeout(ctx, askTimeout)
	uid, err := find(asking, one.GroupKind, one.NamespacedName)
	cancel()
	if ctx.Err() != nil {
		return
	}
	learnt := one.answered(uid, err)
	o.metrics.ownersAsked.WithLabelValues(string(learnt)).Inc()
	if learnt == answerFailed {
		o.log.Debug("cannot ask for an owner of pods", slog.String("owner", one.String()), slog.Any("err", err))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.questions.raised(one): // a watch has shown it, or the pods are gone
	case o.questions.outdated(one): // it may be there since
		o.questions.putOff(one)
	case learnt == answerAbsent || learnt == answerDenied:
		o.affiliate(o.questions.settle(one))
	default:
		o.questions.putOff(one)
	}
}
