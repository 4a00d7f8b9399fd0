package questions

import (
	"container/list"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/explanation/v1alpha1"
	"muster.dev/muster/cluster"
)

const (
	// mostAnswers is how many answers of a namespace may stand at a time.
	mostAnswers = 100
	// keep is for how long people can read an answer.
	keep = 5 * time.Minute
)

// Asked is a question as it was last seen.
type Asked struct {
	types.NamespacedName

	UID     types.UID
	Version string
	Spec    v1alpha1.QuestionSpec
}

// Queue has the questions that there are. It is safe for concurrent use.
type Queue struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	desks    map[string]*desk // by namespace
	turns    *list.List       // of the desks at which questions wait, the one whose turn it is first
	answered *list.List       // of the questions that are answered, as entries, the first that was seen to be first
}

// desk has the questions of a namespace.
type desk struct {
	namespace string
	all       map[string]*entry // by name
	waiting   *list.List        // of entries, in the order in which they were seen
	answers   int               // that stand
	turn      *list.Element     // of turns, nil while no question waits
}

// entry is a question: it waits, or is being answered, or is answered.
type entry struct {
	Asked

	waits *list.Element // of waiting, nil when it does not wait
	kept  *list.Element // of answered, nil until it is
	since time.Time     // it is answered
}

// NewQueue returns a Queue that knows of no question until the watch tells its Handler.
func NewQueue(now clock.PassiveClock) *Queue {
	q := &Queue{clock: now}
	q.drop()
	return q
}

// Handler takes in the events of the watch on Questions.
func (q *Queue) Handler() cluster.CustomHandler {
	return cluster.CustomHandler{
		Trim:   trim,
		Set:    func(object metav1.Object) { q.set(object.(*v1alpha1.Question)) },
		Delete: func(object metav1.Object) { q.remove(object.GetNamespace(), object.GetName()) },
		Drop:   q.drop,
	}
}

// trim makes of each Question what is read of it. One that makes no sense is about nothing, and is left alone.
func trim(object any) (any, error) {
	whole, is := object.(*unstructured.Unstructured)
	if !is {
		return object, nil // trimmed already, or a tombstone of what was
	}
	kept := &v1alpha1.Question{
		TypeMeta: metav1.TypeMeta{APIVersion: whole.GetAPIVersion(), Kind: whole.GetKind()},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: whole.GetNamespace(), Name: whole.GetName(), UID: whole.GetUID(), ResourceVersion: whole.GetResourceVersion(),
		},
	}
	if question, err := v1alpha1.Decode(whole); err == nil {
		kept.Spec, kept.Status.AnsweredAt = question.Spec, question.Status.AnsweredAt
	}
	return kept, nil
}

func (q *Queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.desks, q.turns, q.answered = map[string]*desk{}, list.New(), list.New()
}

// set applies that a question has come or changed. One that is answered stays so.
func (q *Queue) set(question *v1alpha1.Question) {
	if question.Spec.About == "" {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	d := q.desks[question.Namespace]
	if d == nil {
		d = &desk{namespace: question.Namespace, all: map[string]*entry{}, waiting: list.New()}
		q.desks[question.Namespace] = d
	}
	e := d.all[question.Name]
	if e != nil && e.UID != question.UID {
		q.forget(d, e)
		e = nil
	}
	if e == nil {
		e = &entry{Asked: Asked{
			NamespacedName: types.NamespacedName{Namespace: question.Namespace, Name: question.Name},
			UID:            question.UID, Spec: question.Spec,
		}}
		d.all[question.Name] = e
		q.wait(d, e)
	}
	e.Version = question.ResourceVersion
	if question.Status.AnsweredAt != nil {
		q.stands(d, e)
	}
}

// remove applies that a question has gone.
func (q *Queue) remove(namespace, name string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	d := q.desks[namespace]
	if d == nil || d.all[name] == nil {
		return
	}
	q.forget(d, d.all[name])
	if len(d.all) == 0 {
		delete(q.desks, namespace)
	}
}

// next takes the question that is to be answered next. It returns false when none is.
func (q *Queue) next() (Asked, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for at := q.turns.Front(); at != nil; at = at.Next() {
		d := at.Value.(*desk)
		if d.answers >= mostAnswers {
			continue
		}
		e := d.waiting.Front().Value.(*entry)
		q.turns.MoveToBack(at)
		q.leave(d, e)
		return e.Asked, true
	}
	return Asked{}, false
}

// again puts a question that was taken behind the others of its namespace.
func (q *Queue) again(asked Asked) {
	q.known(asked, func(d *desk, e *entry) {
		if e.kept == nil && e.waits == nil {
			q.wait(d, e)
		}
	})
}

// wrote notes that a question that was taken is answered.
func (q *Queue) wrote(asked Asked) { q.known(asked, q.stands) }

// over takes a question whose answer has stood for long enough. It returns false when there is none.
func (q *Queue) over() (Asked, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := q.answered.Front()
	if first == nil {
		return Asked{}, false
	}
	e := first.Value.(*entry)
	if q.clock.Since(e.since) < keep {
		return Asked{}, false
	}
	e.since = q.clock.Now() // until the watch shows that it is gone
	q.answered.MoveToBack(first)
	return e.Asked, true
}

// known does something about a question that there is still.
func (q *Queue) known(asked Asked, do func(*desk, *entry)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if d := q.desks[asked.Namespace]; d != nil {
		if e := d.all[asked.Name]; e != nil && e.UID == asked.UID {
			do(d, e)
		}
	}
}

// The lock is held by callers of those below.

// wait has a question wait for the turn of its namespace.
func (q *Queue) wait(d *desk, e *entry) {
	e.waits = d.waiting.PushBack(e)
	if d.turn == nil {
		d.turn = q.turns.PushBack(d)
	}
}

// leave has a question wait no more.
func (q *Queue) leave(d *desk, e *entry) {
	if e.waits == nil {
		return
	}
	d.waiting.Remove(e.waits)
	e.waits = nil
	if d.waiting.Len() == 0 {
		q.turns.Remove(d.turn)
		d.turn = nil
	}
}

// stands notes that a question is answered.
func (q *Queue) stands(d *desk, e *entry) {
	q.leave(d, e)
	if e.kept == nil {
		e.kept, e.since = q.answered.PushBack(e), q.clock.Now()
		d.answers++
	}
}

// forget drops a question.
func (q *Queue) forget(d *desk, e *entry) {
	q.leave(d, e)
	if e.kept != nil {
		q.answered.Remove(e.kept)
		d.answers--
	}
	delete(d.all, e.Name)
}
