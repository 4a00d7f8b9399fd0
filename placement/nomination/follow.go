package nomination

import (
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// course decides the fate of each pending pod. Callers hold the lock of the Nominator.
type course struct {
	*book

	cluster      *cluster.Cluster
	profiles     *predicates.Profiles
	skip         func(*cluster.Pod) bool
	reservations Reservations
	limits       Limits
	pausing      func() bool // nothing is planned at present
	jams         map[jam]*stuck
	saving       saving     // of nominations
	posts        []*nominee // to be written, the oldest first
	posted       func()     // has the next one written
}

// observe follows what the watch shows of a pod.
func (c *course) observe(event cluster.PodEvent) {
	p := c.nominees[event.UID]
	if event.Pod == nil {
		if p != nil {
			c.leave(p, event.Node)
		}
		return
	}
	if p == nil {
		c.meet(event.Pod)
		return
	}
	changed := event.Pod.ResourceVersion != p.pod.ResourceVersion
	p.pod = event.Pod
	if c.skip(p.pod) {
		p.store = nil
	}
	if !p.sending && changed {
		p.disown()
	}
	switch p.stage {
	case held:
		if changed || c.skip(p.pod) {
			c.end(p, Changed)
			c.giveUp(p)
		}
	case standing, taken:
		c.compare(p)
	case waiting, resting, aside, withdrawing:
		c.place(p)
	case planning, writing: // decided when that is done
	}
	c.letGo(p)
}

// meet takes in a pod that was not known.
func (c *course) meet(pod *cluster.Pod) {
	store, gated, byUs := c.storeOf(pod), hasGate(pod.Pod), pod.NominatedBy() == cluster.FieldManager
	switch {
	case store == nil && !gated, gatedByOthers(pod.Pod):
		return
	case placesGated(store) && !gated && !byUs: // it was never gated
		return
	}
	p := c.begin(pod, store)
	switch {
	case store != nil && byUs && placesGated(store) && !gated && pod.Tried(): // kube-scheduler's since: it keeps no room in vain
		p.mine, p.written = p.nominated(), c.clock.Now()
		c.place(p)
	case store != nil && byUs:
		c.adopt(p)
	default:
		c.place(p)
	}
	c.letGo(p)
}

// adopt goes on with a nomination that a former process wrote: the pod counts on its node
// again, unless a filter call decides about that. Where it cannot, the nomination is taken back.
func (c *course) adopt(p *nominee) {
	p.mine, p.written = p.nominated(), c.clock.Now()
	stage := standing
	if c.cluster.Assumed(p.pod.UID) != "" {
		stage = taken
	} else if !c.cluster.AssumeAgain(p.pod, p.mine) {
		c.place(p)
		return
	}
	p.node, p.decided, p.attempts, p.open = p.mine, p.pod, 1, true
	c.enter(p, stage)
}

// place puts a pod that has no plan where it belongs, by what its status says.
func (c *course) place(p *nominee) {
	switch nominated := p.nominated(); {
	case nominated != "" && nominated == p.mine:
		c.enter(p, withdrawing)
		c.post(p)
	case nominated != "", p.store == nil, p.attempts >= c.limits.Attempts, p.isLeft():
		c.enter(p, aside)
	case p.stage == waiting:
	case c.clock.Now().Before(p.until):
		c.enter(p, resting)
	default:
		c.enter(p, waiting)
	}
}

// giveUp ends a plan for a pod. The pod is planned again after a rest, and ceases to count on its node, unless
// a filter call has taken that over.
func (c *course) giveUp(p *nominee) {
	if p.stage.holds() && c.cluster.Assumed(p.pod.UID) == p.node {
		c.cluster.Release(p.pod.UID)
	}
	p.until = c.clock.Now().Add(c.backoff(p.attempts))
	c.place(p)
}

// backoff returns the rest after a number of failures.
func (c *course) backoff(failures int) time.Duration {
	rest := c.limits.Backoff
	for range failures - 1 {
		if rest *= 2; rest >= c.limits.MaxBackoff {
			return c.limits.MaxBackoff
		}
	}
	return rest
}

// compare looks whether a nomination that was written still stands.
func (c *course) compare(p *nominee) {
	nominated := p.nominated()
	switch {
	case !p.open, p.sending:
	case c.skip(p.pod): // it has become somebody else's affair
		c.end(p, Changed)
		c.giveUp(p)
	case nominated == p.node, p.pod.ResourceVersion == p.decided.ResourceVersion:
	case nominated == "":
		c.end(p, Rejected)
		p.refused = append(p.refused, p.node)
		c.giveUp(p)
	default:
		c.end(p, Superseded)
		c.giveUp(p)
	}
}

// wrote follows the end of a write.
func (c *course) wrote(w *write, err error) {
	p := w.nominee
	p.sending = false
	if c.nominees[p.pod.UID] != p {
		return // gone in the meantime
	}
	switch w.what {
	case nominates:
		p.own(w.node, err, c.clock.Now())
		c.wroteNode(p, w.node, err)
	case lifts:
		if p.pod != w.pod {
			p.disown()
		}
		c.wentOn(p, w.why, err)
		if p.stage == standing || p.stage == taken {
			c.compare(p)
		}
	}
	c.letGo(p)
}

// wroteNode follows the end of a write that tells the scheduler of a node, or takes a nomination back if that is "".
func (c *course) wroteNode(p *nominee, node string, err error) {
	switch p.stage {
	case writing:
		if err == nil {
			c.enter(p, standing)
			c.compare(p)
			return
		}
		c.end(p, failure(err))
		c.giveUp(p)
	case taken:
		if node != "" && err != nil && p.open {
			c.end(p, Overtaken)
		}
		c.compare(p)
	case held: // planned again while the nomination before was being taken back
		c.post(p)
	case waiting, resting, planning, standing, withdrawing, aside:
		// The watch tells whether it was taken back; if not, the next tick tries again.
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
	if p.pod.ResourceVersion != p.decided.ResourceVersion {
		p.disown()
	}
}

// disown goes by what the watch has shown since a write of ours: its nomination, that of a write before which was not
// answered, or somebody else's, as a gang's where the pod has become a member.
func (p *nominee) disown() {
	switch nominated := p.nominated(); {
	case p.mine == "", p.mine == nominated:
	case nominated != "" && p.pod.NominatedBy() == cluster.FieldManager && p.store != nil:
		p.mine = nominated
	default:
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
func (c *course) leave(p *nominee, node string) {
	switch {
	case node == "":
		c.end(p, Gone)
		if p.stage.holds() {
			c.cluster.Release(p.pod.UID)
		}
	case p.stage == held:
		c.end(p, Overtaken)
	case node == p.node:
		c.end(p, Confirmed)
	default:
		c.end(p, Elsewhere)
	}
	c.forget(p)
}

// expire looks after what hangs on time.
func (c *course) expire(p *nominee) {
	now := c.clock.Now()
	switch p.stage {
	case resting, withdrawing:
		c.place(p)
	case standing, taken:
		if !p.tried() || p.sending || now.Sub(p.since) < c.limits.Lifetime || c.makingRoom(p) {
			return
		}
		if p.stage == taken && c.cluster.Assumed(p.pod.UID) != "" { // as a filter call has decided, until that expires
			return
		}
		c.end(p, Expired)
		if p.stage == taken { // its volumes may be taking their time: the scheduler is to come to an end first
			p.until = now.Add(c.limits.MaxBackoff)
			c.place(p)
			return
		}
		c.giveUp(p)
	case waiting, planning, held, writing, aside: // until something happens
	}
}

// makingRoom reports whether pods are being evicted for a pod on its node: the scheduler has
// made the nomination its own (PodEligibleToPreemptOthers in
// pkg/scheduler/framework/plugins/defaultpreemption).
func (c *course) makingRoom(p *nominee) bool {
	node := c.cluster.Snapshot().NodeByName(p.nominated())
	now := c.clock.Now()
	return node != nil && slices.ContainsFunc(node.Pods, func(pod *cluster.Pod) bool {
		return placement.Leaves(pod, now) && priority(pod) < priority(p.pod)
	})
}
