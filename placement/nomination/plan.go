package nomination

import (
	"math"
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// plan places a batch of the backlog. It says whether there may be more to place.
func (n *Nominator) plan() bool {
	batch, more := n.draw()
	if batch = n.takeKept(batch); len(batch) == 0 {
		return more
	}
	pods, highest := make([]*cluster.Pod, len(batch)), int32(math.MinInt32)
	for i, p := range batch {
		pods[i], highest = p.decided, max(highest, priority(p.decided))
	}
	if n.before != nil {
		n.before(highest)
	}
	started := n.clock.Now()
	n.seed++
	plan := placement.New(batch[0].store, pods, n.seed)
	defer plan.Close()
	result := result{on: map[int32][]*nominee{}}
	for i, p := range batch {
		if i > 0 && n.clock.Since(started) >= n.limits.BatchTime {
			result.left = batch[i:]
			break
		}
		n.find(plan, p, &result)
	}
	n.metrics.batch.Observe(float64(len(batch) - len(result.left)))
	n.metrics.planning.Observe(n.clock.Since(started).Seconds())
	// Before the plan is closed, so that filter calls about pods like these see it.
	n.commit(plan.Snapshot(), &result)
	return more || len(result.left) > 0
}

// draw takes a batch of pods of one profile from the backlog, in its order. It says whether another full batch
// could be drawn.
func (n *Nominator) draw() (batch []*nominee, more bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.course.takeHeart()
	ahead := n.course.ahead()
	room := n.limits.MaxAhead - ahead
	size := min(len(n.course.backlog), n.limits.BatchPods, max(n.limits.MaxAhead/4, 1))
	few := n.course.stepsAside()
	switch {
	case size == 0, few && !slices.ContainsFunc(n.course.backlog, (*nominee).mustBePlaced):
		return nil, false
	case room < size: // to place few at a time is dear
		return nil, false
	case n.course.counts[held] > n.limits.BatchPods: // the writers are behind
		return nil, false
	case n.writer.Pausing():
		return nil, false
	}
	var others []*nominee
	for len(batch) < size && len(n.course.backlog) > 0 && len(others) < n.limits.BatchPods {
		p := n.course.backlog[0]
		n.course.enter(p, planning)
		if few && !p.mustBePlaced() || len(batch) > 0 && p.store != batch[0].store {
			others = append(others, p)
			continue
		}
		p.decided = p.pod
		batch = append(batch, p)
	}
	for _, p := range others {
		n.course.enter(p, waiting)
	}
	return batch, len(n.course.backlog) > 0
}

// mustBePlaced reports whether the pod is placed even if few wait: kube-scheduler does not see it before.
func (p *nominee) mustBePlaced() bool { return p.gated() || p.ahead() }

// result is the result of a plan.
type result struct {
	order []int32              // nodes, in the order in which they were first chosen
	on    map[int32][]*nominee // by node
	none  []*nominee           // pods without a node
	left  []*nominee           // pods that time did not suffice for
}

// find places one pod.
func (n *Nominator) find(plan *placement.Plan, p *nominee, to *result) {
	// The assumption of an earlier filter call must not be in the way of its own pod.
	if node := plan.Snapshot().NodeByName(n.cluster.Assumed(p.decided.UID)); node != nil {
		if at := slices.IndexFunc(node.Pods, func(pod *cluster.Pod) bool { return pod.UID == p.decided.UID }); at >= 0 {
			plan.Take(node.Pods[at], node.Index)
		}
	}
	var refused []int32
	refuse := func(name string) {
		if node := plan.Snapshot().NodeByName(name); node != nil {
			refused = append(refused, node.Index)
		}
	}
	for _, name := range p.refused {
		refuse(name)
	}
	for name := range n.course.reservations.LeftBy(p.decided) {
		refuse(name)
	}
	index := plan.Place(p.decided, refused...)
	if index < 0 {
		to.none = append(to.none, p)
		return
	}
	if to.on[index] == nil {
		to.order = append(to.order, index)
	}
	to.on[index] = append(to.on[index], p)
}

// commit has the pods count on their nodes and posts their nominations. It leaves out pods that changed or were
// taken up since they were drawn. Where a node changed, its pods are placed again.
func (n *Nominator) commit(snap *cluster.Snapshot, r *result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, index := range r.order {
		var pods []*cluster.Pod
		var ready []*nominee
		for _, p := range r.on[index] {
			if n.current(p) {
				ready, pods = append(ready, p), append(pods, p.decided)
			}
		}
		node := snap.Node(index)
		if err := n.cluster.AssumeAll(pods, node); err != nil {
			for _, p := range ready {
				n.course.place(p)
			}
			n.inbox.ring()
			continue
		}
		for _, p := range ready {
			p.node, p.open = node.Name, true
			n.course.hasPlace(p)
			n.course.enter(p, held)
			n.course.post(p)
		}
	}
	for _, p := range r.none {
		if n.current(p) {
			n.course.noPlace(p)
		}
	}
	for _, p := range r.left {
		if n.current(p) {
			n.course.place(p)
		}
	}
}

// current reports whether a pod that was planned is as it was then. One that changed goes
// back to the backlog.
func (n *Nominator) current(p *nominee) bool {
	if n.course.nominees[p.decided.UID] != p || p.stage != planning {
		return false
	}
	if p.pod != p.decided {
		n.course.place(p)
		return false
	}
	return true
}
