package leasefaults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

// createOptions are for all objects of the campaign.
var createOptions = metav1.CreateOptions{}

// Figures of a campaign.
const (
	answersFigure  = "answers"
	bindingsFigure = "bindings"
	leadersFigure  = "leaders"
)

// term is the least time that a process led, as its answers tell. It may be empty: then it led at some
// moment between until and from.
type term struct {
	by *incarnation
	// One of its answers was given before from, one was given after until.
	from, until time.Time
	first       time.Time // before which it was not asked what it answered first
	last        time.Time // when its last answer had come
}

// terms returns the term of each process that answered, sorted by the beginning.
func terms(given []answer) []*term {
	of := map[*incarnation]*term{}
	var all []*term
	for _, a := range given {
		t := of[a.by]
		if t == nil {
			t = &term{by: a.by, from: a.to, until: a.from, first: a.from, last: a.to}
			of[a.by] = t
			all = append(all, t)
		}
		t.from, t.first = earlier(t.from, a.to), earlier(t.first, a.from)
		t.until, t.last = later(t.until, a.from), later(t.last, a.to)
	}
	slices.SortFunc(all, func(a, b *term) int { return a.from.Compare(b.from) })
	return all
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// both is for how long two led at a time at least, 0 when they may not have. A moment counts as a
// millisecond.
func both(a, b *term) time.Duration {
	if a.from.After(a.until) {
		a, b = b, a
	}
	if a.from.After(a.until) { // of each only a moment is known
		return 0
	}
	if b.from.After(b.until) {
		if b.until.After(a.from) && b.from.Before(a.until) {
			return time.Millisecond
		}
		return 0
	}
	overlap := earlier(a.until, b.until).Sub(later(a.from, b.from))
	if overlap <= 0 {
		return 0
	}
	return max(overlap, time.Millisecond)
}

// twice are the nodes that were given to two pods, by the rules of the package comment.
func twice(claims []*claim, led []*term) map[string]string {
	of := map[*incarnation]*term{}
	for _, t := range led {
		of[t.by] = t
	}
	byNode := map[string][]*claim{}
	for _, c := range claims {
		byNode[c.node] = append(byNode[c.node], c)
	}
	found := map[string]string{}
	for node, claims := range byNode {
		for _, first := range claims {
			for _, second := range claims {
				switch {
				case first.pod == second.pod:
				case first.by == second.by && second.from.After(first.to) && (first.until.IsZero() || second.to.Before(first.until)):
					found[node] = fmt.Sprintf(
						"%s gives node %s to pod %s while pod %s has it from the same process", second.by.name, node, second.pod, first.pod,
					)
				case first.by != second.by && second.from.After(first.to) && of[first.by].until.After(second.to):
					found[node] = fmt.Sprintf(
						"%s gives node %s to pod %s, and %s, which still leads, gave it to pod %s", second.by.name, node, second.pod, first.by.name,
						first.pod,
					)
				}
			}
		}
	}
	return found
}

// judge makes the outcome of a run that is over.
func (r *run) judge(leaderless []string) (*faultcampaign.Outcome, error) {
	given, claims := r.answers.all()
	led := terms(given)
	o := &faultcampaign.Outcome{Violations: leaderless, Longest: map[string]time.Duration{}}
	var worst time.Duration
	for i, a := range led {
		r.NoteAt(a.from, fmt.Sprintf("%s has given its first answer", a.by.name))
		r.NoteAt(a.until, fmt.Sprintf("%s is to give its last answer", a.by.name))
		for _, b := range led[:i] {
			if overlap := both(a, b); overlap > 0 {
				worst = max(worst, overlap)
				o.Violations = append(o.Violations, fmt.Sprintf("%s and %s lead at a time, for %s at least", b.by.name, a.by.name, overlap))
			}
		}
	}
	audit, err := r.bindings.Audit()
	if err != nil {
		return nil, err
	}
	doubles := twice(claims, led)
	for _, text := range doubles {
		o.Violations = append(o.Violations, text)
	}
	o.Violations = append(append(o.Violations, audit.Overcommitted...), audit.Moved...)
	var logs []string
	for _, replica := range r.lane.replicas {
		if now := replica.now.Load(); now != nil {
			logs = append(logs, now.server.Log())
		}
	}
	logged, err := r.lane.Logged(logs...)
	if err != nil {
		return nil, err
	}
	o.Find(logged)
	o.Counts = map[string]int{answersFigure: len(given), bindingsFigure: audit.Bindings, leadersFigure: len(led)}
	r.lane.tally.add(worst, len(doubles)+len(audit.Overcommitted), gaps(led))
	r.Tell(o, faultcampaign.NewCalls(context.Background(), faultcampaign.Trouble{}))
	return o, nil
}

// gaps are for how long nobody led between two, at most: from the last answer of one to the first of the next.
func gaps(led []*term) (all []time.Duration) {
	byLast := slices.SortedFunc(slices.Values(led), func(a, b *term) int { return cmp.Compare(a.last.UnixNano(), b.last.UnixNano()) })
	for i := 1; i < len(byLast); i++ {
		all = append(all, max(0, byLast[i].first.Sub(byLast[i-1].last)))
	}
	return all
}

// answer is one that a replica gave to a call, with status 200.
type answer struct {
	by   *incarnation
	verb string
	pod  types.UID // "" where it does not matter
	// node is the one that it gave to the pod, or bound it to; "" for none.
	node string
	// It was given between these two times.
	from, to time.Time
}

// claim is the time during which a pod has the node that an answer gave to it.
type claim struct {
	answer
	// until is when the replica may first have taken it back, zero for never.
	until time.Time
}

// answers are all that were given in a run. Its methods are safe for concurrent use.
type answers struct {
	mu     sync.Mutex
	given  []answer
	claims map[types.UID][]*claim
	last   answer // by the time that it was received
}

func newAnswers() *answers { return &answers{claims: map[types.UID][]*claim{}} }

// add takes in an answer. A pod that gets a node by it has no other one any more.
func (a *answers) add(given answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given = append(a.given, given)
	if given.to.After(a.last.to) {
		a.last = given
	}
	if given.verb == filter && given.node != "" {
		a.claims[given.pod] = append(a.claims[given.pod], &claim{answer: given})
	}
}

// release says that from a time on a replica may take a pod's node back: the pod is asked about again,
// or could not be bound.
func (a *answers) release(pod types.UID, from time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.claims[pod] {
		if c.until.IsZero() {
			c.until = from
		}
	}
}

// leader is who gave the last answer, nil when nobody did.
func (a *answers) leader() *incarnation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.by
}

// since says that an answer was given from a time on.
func (a *answers) since(at time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last.from.After(at)
}

// all are the answers and the claims, when no more are added.
func (a *answers) all() (given []answer, claims []*claim) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, of := range a.claims {
		claims = append(claims, of...)
	}
	return a.given, claims
}
