package loadaware

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// audience is the class of pods that ask about a node: thresholds and scores may be others for pods of the
// class prod.
type audience int

const (
	anyone audience = iota
	prodOnly

	audiences
)

func audienceOf(class priorityClass) audience {
	if class == prod {
		return prodOnly
	}
	return anyone
}

// account is the sum that a profile keeps of a node, for filter and score and by audience.
type account struct {
	custom      *custom
	allocatable vector
	measured    measured
	filter      [audiences]limit
	score       [audiences]sum
}

// measured says whether a node was measured.
type measured int

const (
	never  measured = iota // nothing is known
	silent                 // the source knows the node, and its figures never came
	expired
	lately
)

// limit is thresholds and what is held against them.
type limit struct {
	of         sum
	thresholds vector
	aggregated bool
}

// sum is how much of a node is used.
type sum struct {
	base  base
	used  vector // before delta
	delta vector
	// own adds, for pods of a namespace, to the sum for their like; see excess.
	own map[string]vector
}

// base is the start of a sum.
type base struct {
	kind      baseKind
	statistic statistic
}

type baseKind int

const (
	ofNode      baseKind = iota // what the node uses
	ofStatistic                 // a statistic of that
	ofEstimates                 // what all pods on it are estimated to use, for want of the statistic
	ofProd                      // what its pods of class prod use
)

// entry is the share of one pod in the account of its node.
type entry struct {
	pod       *cluster.Pod
	class     priorityClass
	estimate  vector // no more than the node offers
	requested vector // the part of it that goes by requests of what the node offers
	used      vector // zero when it is not reported
	reported  bool
	counted   counted
	prodShows bool // its usage is part of what pods of class prod use
}

// counted says why the estimate of a pod counts beside what is measured.
type counted int

const (
	shown         counted = iota // it does not: the measurement shows the pod
	unreported                   // there are no figures of the pod
	expected                     // it is not on the node yet, but about to come
	justScheduled                // they may not be of a full interval
	bootstrapping                // the arguments, or the pod, say so for some time
)

// defaultInterval is the time between two reports of a source that does not say.
const defaultInterval = time.Minute

// account sums up a node. visit, if there is one, is shown each entry, whose memory is used
// again for the next.
func (l *LoadAware) account(node *cluster.Node, c *custom, visit func(*entry)) *account {
	n := len(l.resources.names)
	a := &account{custom: c, allocatable: make(vector, n), measured: l.measured(node.Usage)}
	l.allocatable(a.allocatable, node, c)
	t := l.thresholds
	if c.thresholds != nil {
		t = *c.thresholds
	}
	t.limits(&a.filter)
	if a.measured == never {
		return a
	}
	totals := l.total(node, a, visit)
	for i := range a.filter {
		a.filter[i].of = l.sum(a.filter[i].of.base, node.Usage, totals)
	}
	a.score[anyone] = l.sum(l.scoreBase, node.Usage, totals)
	if a.score[prodOnly] = a.score[anyone]; l.scoreProd {
		a.score[prodOnly] = l.sum(base{kind: ofProd}, node.Usage, totals)
	}
	return a
}

// limits says which thresholds count for whom. Pods of class prod have their own thresholds, if any. Otherwise
// the thresholds of a statistic count, if any.
func (t *thresholds) limits(filter *[audiences]limit) {
	filter[anyone] = limit{thresholds: t.usage}
	if t.aggregated != nil {
		filter[anyone] = limit{thresholds: t.aggregated, aggregated: true, of: sum{base: base{ofStatistic, t.statistic}}}
	}
	if filter[prodOnly] = filter[anyone]; t.prod != nil {
		filter[prodOnly] = limit{thresholds: t.prod, of: sum{base: base{kind: ofProd}}}
	}
}

func (l *LoadAware) measured(usage *cluster.Usage) measured {
	switch {
	case usage == nil:
		return never
	case usage.Updated.IsZero():
		return silent
	case usage.Age() >= l.expiration:
		return expired
	default:
		return lately
	}
}

// totals are sums over the pods on a node.
type totals struct {
	*tally
	allocatable vector
	prodUsed    vector
	estimates   bool // are wanted, for want of a statistic
}

// total sums up what the bases of an account need.
func (l *LoadAware) total(node *cluster.Node, a *account, visit func(*entry)) *totals {
	n := len(l.resources.names)
	t := &totals{tally: newTally(n), allocatable: a.allocatable, prodUsed: make(vector, n)}
	for _, from := range []base{a.filter[anyone].of.base, a.filter[prodOnly].of.base, l.scoreBase} {
		t.estimates = t.estimates || from.kind == ofStatistic && from.statistic.over != 0 && find(node.Usage, from.statistic) == nil
	}
	e, allocatable := newEntry(n), a.allocatable
	count := func() {
		t.add(e)
		if visit != nil {
			visit(e)
		}
	}
	for _, pod := range node.Pods {
		l.enter(e, pod, node.Usage, node, allocatable)
		count()
	}
	for _, pod := range node.Expected {
		l.enterExpected(e, pod, node, allocatable)
		count()
	}
	return t
}

func newEntry(resources int) *entry {
	memory := make(vector, 3*resources)
	part := func(i int) vector { return memory[i*resources : (i+1)*resources : (i+1)*resources] }
	return &entry{estimate: part(0), requested: part(1), used: part(2)}
}

// enter sets e to what a pod on a node adds, which offers so much, or with nil to what one adds anywhere.
func (l *LoadAware) enter(e *entry, pod *cluster.Pod, usage *cluster.Usage, node *cluster.Node, allocatable vector) {
	l.enterExpected(e, pod, node, allocatable)
	figures, reported := usage.Pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
	if reported {
		l.resources.read(e.used, &figures.Used)
	}
	e.reported = reported
	e.prodShows = reported && e.class == prod && (figures.Priority == "" || figures.Priority == prod.String())
	e.counted = l.counts(pod, usage, reported)
}

// enterExpected is the same for a pod that is about to come: nothing can be known of what it
// uses there.
func (l *LoadAware) enterExpected(e *entry, pod *cluster.Pod, node *cluster.Node, allocatable vector) {
	*e = entry{
		pod: pod, class: classOf(pod), estimate: e.estimate, requested: e.requested, used: e.used, counted: expected,
	}
	clear(e.used)
	l.estimator.estimate(e.estimate, pod, e.class)
	l.estimator.requested(e.requested, pod, e.class)
	for i, most := range allocatable {
		e.estimate[i] = min(e.estimate[i], most)
		// A kubelet lets a pod request any amount of what its node has never heard of, as of batch-cpu.
		e.requested[i] = min(e.requested[i], clamped(l.resources.at[e.class][i].of(&node.Allocatable)))
	}
}

func (l *LoadAware) counts(pod *cluster.Pod, usage *cluster.Usage, reported bool) counted {
	if !reported {
		return unreported
	}
	scheduled, is := scheduled(pod)
	switch interval := cmp.Or(usage.Interval, defaultInterval); {
	case !is || usage.Updated.Add(-interval).Before(scheduled):
		return justScheduled
	case l.estimator.deadline(pod, scheduled).After(usage.Updated):
		return bootstrapping
	default:
		return shown
	}
}

func (t *totals) add(e *entry) {
	for i, estimate := range e.estimate {
		used := e.used[i]
		if t.estimates {
			t.tally.add(sumEstimates, e.pod, i, max(estimate, used), max(min(e.requested[i], estimate), used), 0)
		}
		if e.counted != shown {
			t.tally.add(sumDelta, e.pod, i, estimate, e.requested[i], used)
		}
		switch {
		case e.class != prod:
		case !e.prodShows: // by the source it is of another class: its usage is not in the sum
			t.tally.add(sumProdDelta, e.pod, i, estimate, e.requested[i], 0)
		default:
			t.prodUsed[i] = plus(t.prodUsed[i], used)
			if e.counted != shown {
				t.tally.add(sumProdDelta, e.pod, i, estimate, e.requested[i], used)
			}
		}
	}
}

// sum returns how much of a node is used, starting from a base.
func (l *LoadAware) sum(from base, usage *cluster.Usage, t *totals) sum {
	s := sum{base: from, used: make(vector, len(l.resources.names))}
	kind := sumDelta
	switch from.kind {
	case ofNode:
		l.resources.read(s.used, &usage.Node)
	case ofStatistic:
		switch aggregate := find(usage, from.statistic); {
		case aggregate != nil:
			l.resources.read(s.used, &aggregate.Used)
			s.base.statistic.over = aggregate.Duration
		case from.statistic.over == 0:
			s.base = base{kind: ofNode}
			l.resources.read(s.used, &usage.Node)
		default:
			s.base.kind = ofEstimates
			s.used, s.own = t.sum(sumEstimates, t.allocatable)
			s.delta = make(vector, len(s.used))
			return s
		}
	case ofEstimates: // nobody starts from these
	case ofProd:
		if l.prodIncludesSystem {
			l.resources.read(s.used, &usage.System)
		}
		s.used.add(t.prodUsed)
		kind = sumProdDelta
	}
	s.delta, s.own = t.sum(kind, t.allocatable)
	return s
}

// find returns the statistic of a node, over that time or the longest one; nil when there is none.
// One of nothing is none.
func find(usage *cluster.Usage, s statistic) *cluster.Aggregate {
	var found *cluster.Aggregate
	for i := range usage.Aggregated {
		a := &usage.Aggregated[i]
		if a.Type != string(s.kind) || s.over != 0 && a.Duration != s.over || a.Used.IsZero() {
			continue
		}
		if found == nil || a.Duration > found.Duration {
			found = a
		}
	}
	return found
}
