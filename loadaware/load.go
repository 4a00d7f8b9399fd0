package loadaware

import (
	"math"
	"sync"
	"sync/atomic"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// load is the part of a node that filter and score ask for: its account, worked out as far as it can be without
// knowing the pod. It is immutable.
type load struct {
	node        *cluster.Node
	custom      *custom
	allocatable vector
	filter      [audiences]bounds
	// free is the free amount of each resource, -1 when that is negative; nil when the node was not measured
	// lately. own is how much less is free for pods of a namespace.
	free [audiences]vector
	own  [audiences]map[string]vector
}

// bounds are the bounds on what a pod may add to a node.
type bounds struct {
	// room is the amount of each resource that a pod must stay below; nil when there are no thresholds.
	room vector
	// own is how much less there is for pods of a namespace.
	own map[string]vector
	// expired says that no pod may come.
	expired    bool
	aggregated bool
}

// unbounded is the room of a resource without a threshold. No amount is as large.
const unbounded = math.MaxInt64

// weigh works out the load of a node.
func (l *LoadAware) weigh(node *cluster.Node, c *custom) *load {
	a := l.account(node, c, nil)
	w := &load{node: node, custom: c, allocatable: a.allocatable}
	for i := range audiences {
		w.filter[i] = a.bounds(i, l.expiry)
		if a.measured == lately {
			w.free[i], w.own[i] = a.free(i), a.score[i].own
		}
	}
	return w
}

// bounds of an audience: 100·estimate ≥ threshold·allocatable is too much, and the estimate is
// the sum and what the pod adds.
func (a *account) bounds(who audience, e expiry) bounds {
	f := &a.filter[who]
	switch {
	case e.refuses(a.measured):
		return bounds{expired: true}
	case f.thresholds.none() || !e.judges(a.measured):
		return bounds{}
	}
	b := bounds{room: make(vector, len(f.thresholds)), own: f.of.own, aggregated: f.aggregated}
	for i := range b.room {
		b.room[i] = unbounded
		if ceiling := a.ceiling(who, i); ceiling > 0 {
			b.room[i] = ceiling - f.of.at(i)
		}
	}
	return b
}

// ceiling returns the least amount of a resource that is too much, 0 when none is.
func (a *account) ceiling(who audience, i int) int64 {
	return percentUp(a.filter[who].thresholds[i], a.allocatable[i])
}

func (a *account) free(who audience) vector {
	free := make(vector, len(a.allocatable))
	for i := range free {
		free[i] = max(a.allocatable[i]-a.score[who].at(i), -1)
	}
	return free
}

// at returns the amount of a resource, as pods see it whose namespace has no pods on the node.
func (s *sum) at(i int) int64 { return plus(s.used[i], s.delta[i]) }

// ownAt returns what pods of a namespace see besides.
func (s *sum) ownAt(namespace string, i int) int64 {
	if own := s.own[namespace]; own != nil {
		return own[i]
	}
	return 0
}

// whole returns the amount of a resource with all that is estimated of any pod.
func (s *sum) whole(i int) int64 {
	amount := s.at(i)
	for _, own := range s.own {
		amount = plus(amount, own[i])
	}
	return amount
}

// none reports whether all are 0.
func (v vector) none() bool {
	for _, amount := range v {
		if amount != 0 {
			return false
		}
	}
	return true
}

// loads keeps what was made of nodes, by their index. It is safe for concurrent use.
type loads struct {
	mu    sync.Mutex // held while it grows
	known atomic.Pointer[[]atomic.Pointer[load]]
}

// of returns the load of the state of a node. It is kept until another state of the node is asked about.
func (l *LoadAware) of(node *cluster.Node) *load {
	slot := l.loads.slot(node.Index)
	before := slot.Load()
	if before != nil && before.node == node {
		return before
	}
	return l.renew(slot, before, node)
}

func (l *LoadAware) renew(slot *atomic.Pointer[load], before *load, node *cluster.Node) *load {
	var c *custom
	if before != nil && before.custom.object == node.Node {
		c = before.custom
	} else if c = l.readAnnotations(node.Node); len(c.wrong) > 0 {
		l.complain(node, c.wrong)
	}
	now := l.weigh(node, c)
	slot.Store(now)
	return now
}

// slot returns where the load of the node of that index is kept.
func (s *loads) slot(index int32) *atomic.Pointer[load] {
	if known := s.known.Load(); known != nil && int(index) < len(*known) {
		return &(*known)[index]
	}
	return s.grow(int(index))
}

// grow makes room for an index. A load that is put into a slot meanwhile may be lost, and is then worked out
// again.
func (s *loads) grow(index int) *atomic.Pointer[load] {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.known.Load()
	if old != nil && index < len(*old) {
		return &(*old)[index]
	}
	next := make([]atomic.Pointer[load], max(64, 2*index))
	if old != nil {
		for i := range *old {
			next[i].Store((*old)[i].Load())
		}
	}
	s.known.Store(&next)
	return &next[index]
}

// expiry says how a node counts whose figures have expired. For the score it is always a
// node that was not measured.
type expiry int

const (
	// refused refuses the node, whether there are thresholds or not: something is wrong with it.
	refused expiry = iota
	// letThrough has the node take pods, busy or not.
	letThrough
	// believed holds the last figures of the node against the thresholds, however old they are.
	believed
)

func newExpiry(args *config.LoadAwareSchedulingArgs) expiry {
	switch {
	case !*args.FilterExpiredNodeMetrics:
		return believed
	case *args.EnableScheduleWhenNodeMetricsExpired:
		return letThrough
	default:
		return refused
	}
}

// refuses reports whether a node of that state is refused for the age of its figures alone.
func (e expiry) refuses(m measured) bool {
	return e == refused && (m == expired || m == silent)
}

// judges reports whether there are figures of a node that are held against thresholds.
func (e expiry) judges(m measured) bool {
	return m == lately || m == expired && e == believed
}
