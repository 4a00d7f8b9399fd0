package core

import (
	"maps"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

func (e Seen) apply(t *turn) {
	if e.Pod == nil || e.Pod.Spec.NodeName != "" {
		delete(t.freed, e.UID)
	}
	if e.Pod == nil {
		delete(t.strays, e.UID)
		if g := t.groupOf[e.UID]; g != nil {
			t.leave(g, e.UID)
		}
		return
	}
	if g := t.join(e.Pod); g != nil {
		p := g.members[e.UID]
		before, was := p.pod, p.ready()
		g.heard = g.heard && maps.Equal(p.pod.Annotations, e.Pod.Annotations) && p.pod.Affiliation.AsksAsMuchAs(&e.Pod.Affiliation)
		p.pod, g.dirty = e.Pod, true
		t.root(g, membership.Root(e.Pod))
		switch {
		case e.Pod.Spec.NodeName != "":
			t.enter(p, onNode(e.Pod))
			p.place = e.Pod.Spec.NodeName
		case !p.ready():
			if was { // what the last plan found was for other members
				g.looked = 0
			}
			t.giveUp(p, ErrGone)
		case g.leads(t.view):
			steering{t}.withdraw(p)
			leading{t}.shown(p, before)
		default:
			steering{t}.withdraw(p)
			steering{t}.tellAgain(p, before)
		}
	}
	t.stray(e.Pod)
}

func (e Finished) apply(t *turn) {
	key := membership.Key{Label: e.Label, NamespacedName: e.Group}
	if e.Gone && t.groups[key] == nil {
		return
	}
	g := t.group(key, e.Created)
	g.dirty, g.looked = true, 0
	if e.Gone {
		g.done.remove(e.UID)
		t.counted(g)
		t.forget(g)
		return
	}
	startOf := g.done.pods[e.UID].startOf
	if p := t.member(e.UID); p != nil {
		startOf = p.startOf
	}
	g.done.add(e.UID, donePod{e.Created, e.Phase, startOf})
	t.counted(g)
	if of := t.groupOf[e.UID]; of != nil {
		t.leave(of, e.UID)
	}
}

// onNode returns the stage of a member that the watch shows on a node. For the quorum a member that is being deleted
// is gone: its replacements start as a gang, and not one by one beside members that end.
func onNode(pod *cluster.Pod) stage {
	if pod.DeletionTimestamp != nil {
		return leaving
	}
	return bound
}

// join finds the group of a pod and takes the pod in if it is new, nil when it is of
// none.
func (t *turn) join(pod *cluster.Pod) *group {
	key, of := membership.Of(pod)
	known := t.groupOf[pod.UID]
	if known != nil && (!of || known.key != key) { // labels and owners can change
		t.moves(known, pod, of)
		known = nil
	}
	if !of || known != nil {
		return known
	}
	g := t.group(key, pod.CreationTimestamp.Time)
	if g.done.has(pod.UID) {
		return nil // what shows it running is late
	}
	p := &member{pod: pod, since: t.now}
	g.members[pod.UID] = p
	p.inherited = g.leads(t.view) && p.gated() && pod.NominatedBy() == cluster.FieldManager
	if first := g.members[g.first]; first == nil || older(p, first) < 0 {
		g.isFirst(p)
	}
	g.counts[pending]++
	g.ranks(priority(pod), 1)
	g.looked, g.dirty, g.heard, g.tries = 0, true, false, g.tries.anew()
	t.groupOf[pod.UID] = g
	t.counted(g)
	return g
}

// moves has a member leave its group, for another one or for none.
func (t *turn) moves(g *group, pod *cluster.Pod, another bool) {
	p := g.members[pod.UID]
	if p.sleeps() && !another && pod.Spec.NodeName == "" {
		t.freed[pod.UID] = pod
		t.has(Wake{pod.UID})
	}
	if p.stage == held && membership.Left(pod) { // as it turns out, kube-scheduler starts the group
		t.enter(p, binding)
	}
	t.leave(g, pod.UID)
}

// group returns the group of a key. A pod of it was created at the given time.
func (t *turn) group(key membership.Key, created time.Time) *group {
	g := t.groups[key]
	if g == nil {
		g = &group{key: key, members: map[types.UID]*member{}, priorities: map[int32]int{}, created: created, done: newDone()}
		t.groups[key] = g
	}
	if created.Before(g.created) {
		g.created = created
	}
	return g
}

// leave forgets a member.
func (t *turn) leave(g *group, uid types.UID) {
	p := g.members[uid]
	if p.stage == pending && p.ready() { // the last plan was for it, too
		g.looked = 0
	}
	t.giveUp(p, ErrGone)
	g.counts[p.stage]--
	g.ranks(priority(p.pod), -1)
	delete(g.members, uid)
	delete(t.groupOf, uid)
	t.counted(g)
	if len(g.members) == 0 {
		g.patience, g.courtesy = patience{}, courtesy{}
	}
	if uid == g.first && len(g.members) > 0 {
		g.isFirst(slices.MinFunc(slices.Collect(maps.Values(g.members)), older))
	}
	g.dirty, g.heard, g.tries = true, false, g.tries.anew()
	t.forget(g)
}

// ranks counts members of a priority in, or out again. A group has the highest one of its members, for as long as that one is there.
func (g *group) ranks(priority int32, members int) {
	if g.priorities[priority] += members; g.priorities[priority] == 0 {
		delete(g.priorities, priority)
	}
	if g.priority = 0; len(g.priorities) > 0 {
		g.priority = math.MinInt32
	}
	for has := range g.priorities {
		g.priority = max(g.priority, has)
	}
}

// isFirst notes the member that was created first: who plans all of them is who it names.
func (g *group) isFirst(p *member) { g.first, g.schedulerName = p.pod.UID, p.pod.Spec.SchedulerName }

// forget drops a group that has no pod any more.
func (t *turn) forget(g *group) {
	if len(g.members)+len(g.done.pods) == 0 {
		t.root(g, membership.Key{})
		delete(t.groups, g.key)
		t.changed.Insert(g.key)
	}
}

// giveUp ends what is planned for a member. A call that is held for it ends with an error.
func (t *turn) giveUp(p *member, why error) {
	switch p.stage {
	case placed, held, kept, reserved, due:
		t.ports.Release(p.pod.UID)
		t.endHold(p, why)
		t.enter(p, pending)
		steering{t}.withdraw(p)
	case pending:
		steering{t}.withdraw(p)
	case binding, bound, leaving: // the API server decides
	}
}

// endHold ends the call that is held for a member, if there is one.
func (t *turn) endHold(p *member, why error) {
	if p.hold != 0 {
		t.has(EndHold{p.hold, why, t.now.Sub(p.since)})
		p.hold, p.until = 0, time.Time{}
	}
}

// enter moves a member to a stage. A call that is held for it goes on.
func (t *turn) enter(p *member, to stage) {
	t.endHold(p, nil)
	if to == pending {
		p.place = ""
	} else {
		p.inherited, p.claim = false, ""
	}
	if p.stage == to {
		return
	}
	g := t.groupOf[p.pod.UID]
	held := g.holds()
	g.counts[p.stage]--
	g.counts[to]++
	g.dirty = true
	t.counted(g)
	if holds := g.holds(); holds && !held {
		t.holding[g.key.Namespace]++
	} else if held && !holds {
		if t.holding[g.key.Namespace]--; t.holding[g.key.Namespace] == 0 {
			delete(t.holding, g.key.Namespace)
		}
	}
	p.stage, p.since = to, t.now
	if to == bound {
		remembering{t}.quorum(g)
	}
}

// done are the pods of a group that have finished. They are no members any more. Pods of a former PodGroup of
// the name do not count: they were created before this one, and were not there when its start was recorded. A
// process that has not recorded the start takes the pods created since a time for having been there.
type done struct {
	pods              map[types.UID]donePod
	of                types.UID // the PodGroup
	since             time.Time // the oldest pod that counts is not created before, zero for any
	succeeded, failed int       // of the pods that count
}

// donePod is a pod that has finished.
type donePod struct {
	created time.Time // by the API server's clock, as the time of a PodGroup
	phase   corev1.PodPhase
	startOf types.UID // the PodGroup for whose start it was there, as this process has last recorded; "" for none
}

func newDone() done { return done{pods: map[types.UID]donePod{}} }

func (d *done) has(uid types.UID) bool {
	_, has := d.pods[uid]
	return has
}

func (d *done) add(uid types.UID, p donePod) {
	d.remove(uid)
	d.pods[uid] = p
	d.count(p, 1)
}

// wasThere notes that a pod was there for a start of a PodGroup, if it has finished.
func (d *done) wasThere(uid, of types.UID) {
	if p, has := d.pods[uid]; has {
		p.startOf = of
		d.add(uid, p)
	}
}

func (d *done) remove(uid types.UID) {
	if p, has := d.pods[uid]; has {
		delete(d.pods, uid)
		d.count(p, -1)
	}
}

// countFor recounts if pods of another PodGroup, or since another time, count now. It reports whether that is
// so.
func (d *done) countFor(of types.UID, since time.Time) bool {
	if of == d.of && since.Equal(d.since) {
		return false
	}
	d.of, d.since, d.succeeded, d.failed = of, since, 0, 0
	for _, p := range d.pods {
		d.count(p, 1)
	}
	return true
}

// counts reports whether a pod is not of a former PodGroup.
func (d *done) counts(p donePod) bool {
	return !p.created.Before(d.since) || p.startOf != "" && p.startOf == d.of
}

func (d *done) count(p donePod, by int) {
	switch {
	case !d.counts(p):
	case p.phase == corev1.PodFailed:
		d.failed += by
	default:
		d.succeeded += by
	}
}
