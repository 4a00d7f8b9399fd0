package nomination

import (
	"slices"
	"time"

	"muster.dev/muster/cluster"
)

// observe follows what the watch shows of a pod. The caller holds the lock, here and
// below.
func (n *Nominator) observe(event cluster.PodEvent) {
	p := n.nominees[event.UID]
	if event.Pod == nil {
		if p != nil {
			n.leave(p, event.Node)
		}
		return
	}
	if p == nil {
		n.meet(event.Pod)
		return
	}
	changed := event.Pod.ResourceVersion != p.pod.ResourceVersion
	p.pod = event.Pod
	if p.mine != "" && p.mine != p.nominated() && !p.sending && changed {
		p.mine = ""
	}
	switch p.stage {
	case held:
		if changed {
			n.end(p, Changed)
			n.giveUp(p)
		}
	case standing, taken:
		n.compare(p)
	case waiting, resting, aside, withdrawing:
		n.place(p)
	case planning, writing: // decided when that is done
	}
}

// meet takes in a pod that was not known.
func (n *Nominator) meet(pod *cluster.Pod) {
	store := n.storeOf(pod)
	if store == nil || pod.Spec.SchedulingGroup != nil || n.skip(pod.Pod) { // kube-scheduler plans a PodGroup of its own as one
		return
	}
	p := &nominee{pod: pod, store: store, arrived: n.arrivals, stage: aside, since: n.clock.Now()}
	n.arrivals++
	n.nominees[pod.UID] = p
	n.count(p, 1)
	switch {
	case pod.NominatedBy() == FieldManager:
		n.adopt(p)
	default:
		n.place(p)
	}
}

// adopt goes on with a nomination that a former process wrote: the pod counts on its node
// again, unless a filter call decides about that. Where it cannot, the nomination is taken back.
func (n *Nominator) adopt(p *nominee) {
	p.mine, p.written = p.nominated(), n.clock.Now()
	stage := standing
	if n.cluster.Assumed(p.pod.UID) != "" {
		stage = taken
	} else if node := n.cluster.Snapshot().NodeByName(p.mine); node == nil || n.cluster.Assume(p.pod, node) != nil {
		n.place(p)
		return
	}
	p.node, p.decided, p.attempts, p.open = p.mine, p.pod, 1, true
	n.enter(p, stage)
}

// place puts a pod that has no plan where it belongs, by what its status says.
func (n *Nominator) place(p *nominee) {
	switch nominated := p.nominated(); {
	case nominated != "" && nominated == p.mine:
		n.enter(p, withdrawing)
		n.post(p)
	case nominated != "", p.store == nil, p.attempts >= n.limits.Attempts:
		n.enter(p, aside)
	case p.stage == waiting:
	case n.clock.Now().Before(p.until):
		n.enter(p, resting)
	default:
		n.enter(p, waiting)
	}
}

// giveUp ends a plan for a pod: it does not count on its node any more, unless that has
// become the affair of a filter call, and it is planned anew after a rest.
func (n *Nominator) giveUp(p *nominee) {
	if p.stage.holds() {
		n.cluster.Release(p.pod.UID)
	}
	p.until = n.clock.Now().Add(n.backoff(p.attempts))
	n.place(p)
}

// backoff is the rest after so many failures.
func (n *Nominator) backoff(failures int) time.Duration {
	rest := n.limits.Backoff
	for range failures - 1 {
		if rest *= 2; rest >= n.limits.MaxBackoff {
			return n.limits.MaxBackoff
		}
	}
	return rest
}

// compare looks whether a nomination that was written still stands.
func (n *Nominator) compare(p *nominee) {
	nominated := p.nominated()
	switch {
	case !p.open, p.sending, nominated == p.node, p.pod.ResourceVersion == p.decided.ResourceVersion:
	case nominated == "":
		n.end(p, Rejected)
		p.refused = append(p.refused, p.node)
		n.giveUp(p)
	default:
		n.end(p, Superseded)
		n.giveUp(p)
	}
}

// wrote follows the end of a write: of a nomination to a node, or of taking one back if
// that is "".
func (n *Nominator) wrote(p *nominee, node string, err error) {
	p.sending = false
	if n.nominees[p.pod.UID] != p {
		return // gone in the meantime
	}
	p.own(node, err, n.clock.Now())
	switch p.stage {
	case writing:
		if err == nil {
			n.enter(p, standing)
			n.compare(p)
			return
		}
		n.end(p, failure(err))
		n.giveUp(p)
	case taken:
		if node != "" && err != nil && p.open {
			n.end(p, Overtaken)
		}
		n.compare(p)
	case held: // planned again while the nomination before was being taken back
		n.post(p)
	default: // the watch tells whether it was taken back; if not, the next tick tries again
	}
}

// own notes what a write has put into the status, as far as the watch has not shown more.
func (p *nominee) own(node string, err error, now time.Time) {
	switch {
	case err == nil:
		p.mine, p.written = node, now
	case node != "" && unanswered(err):
		p.mine = node
	}
	if p.mine != p.nominated() && p.pod.ResourceVersion != p.decided.ResourceVersion {
		p.mine = ""
	}
}

func failure(err error) Outcome {
	if Outdated(err) {
		return Changed
	}
	return Failed
}

// leave forgets a pod that was bound to a node, or is gone if that is "".
func (n *Nominator) leave(p *nominee, node string) {
	switch {
	case node == "":
		n.end(p, Gone)
		if p.stage.holds() {
			n.cluster.Release(p.pod.UID)
		}
	case p.stage == held:
		n.end(p, Overtaken)
	case node == p.node:
		n.end(p, Confirmed)
	default:
		n.end(p, Elsewhere)
	}
	if p.stage == waiting {
		n.backlog.remove(p)
	}
	n.count(p, -1)
	delete(n.nominees, p.pod.UID)
}

// expire looks after what hangs on time.
func (n *Nominator) expire(p *nominee) {
	now := n.clock.Now()
	switch p.stage {
	case resting, withdrawing:
		n.place(p)
	case standing, taken:
		if !p.tried() || p.sending || now.Sub(p.since) < n.limits.Lifetime || n.makingRoom(p) {
			return
		}
		if p.stage == taken && n.cluster.Assumed(p.pod.UID) != "" { // as a filter call has decided, until that expires
			return
		}
		n.end(p, Expired)
		if p.stage == taken { // its volumes may be taking their time: the scheduler is to come to an end first
			p.until = now.Add(n.limits.MaxBackoff)
			n.place(p)
			return
		}
		n.giveUp(p)
	default:
	}
}

// makingRoom says whether pods are being evicted for a pod on its node: the scheduler has
// made the nomination its own (PodEligibleToPreemptOthers in
// pkg/scheduler/framework/plugins/defaultpreemption).
func (n *Nominator) makingRoom(p *nominee) bool {
	node := n.cluster.Snapshot().NodeByName(p.nominated())
	return node != nil && slices.ContainsFunc(node.Pods, func(pod *cluster.Pod) bool {
		return pod.DeletionTimestamp != nil && priority(pod) < priority(p.pod)
	})
}

// enter moves a pod to a stage.
func (n *Nominator) enter(p *nominee, to stage) {
	if p.stage == to {
		return
	}
	if p.stage == waiting {
		n.backlog.remove(p)
	}
	n.count(p, -1)
	p.stage, p.since = to, n.clock.Now()
	n.count(p, 1)
	if to == waiting {
		n.backlog.add(p)
	}
}

func (n *Nominator) count(p *nominee, by int) {
	n.counts[p.stage] += by
	n.metrics.pods.WithLabelValues(p.stage.String()).Set(float64(n.counts[p.stage]))
}

// end notes what became of a nomination, if there is one that has not ended.
func (n *Nominator) end(p *nominee, outcome Outcome) {
	if !p.open {
		return
	}
	p.open = false
	n.metrics.ended.WithLabelValues(string(outcome)).Inc()
	n.history.add(Ended{Pod: name(p.pod), Node: p.node, Outcome: outcome, At: n.clock.Now(), Attempt: p.attempts})
}
