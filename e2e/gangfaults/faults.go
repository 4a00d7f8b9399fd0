package gangfaults

import (
	"context"
	"fmt"
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// fault is a kind of things that go wrong.
type fault string

// What is done to processes and objects. What is done to calls is in trouble.go.
const (
	schedulerKilled  fault = "scheduler killed"
	musterKilled     fault = "muster killed"
	musterKilledAt   fault = "muster killed between commit and bind"
	memberDeleted    fault = "member deleted"
	minMemberEdited  fault = "minMember edited"
	podGroupDeleted  fault = "PodGroup deleted"
	podGroupLate     fault = "PodGroup created after its pods"
	nodeLost         fault = "node deleted"
	nodeCordoned     fault = "node cordoned"
	urgentPod        fault = "pod of higher priority"
	competitor       fault = "competing gang"
	preemptor        fault = "gang of higher priority"
	membersFinishing fault = "members finish"
)

// row says how often a fault is drawn, by weight, and how.
type row struct {
	weight int
	draw   func(*writer)
}

// faults are all that a seed may draw.
func faults() []row {
	return append([]row{
		{3, (*writer).killScheduler},
		{4, (*writer).killMuster},
		{4, (*writer).killMusterAtCommit},
		{1, (*writer).killBoth},
		{10, (*writer).deleteMember},
		{10, (*writer).editMinMember},
		{8, (*writer).deletePodGroup},
		{6, (*writer).delayPodGroup},
		{8, (*writer).loseNode},
		{6, (*writer).cordonNode},
		{8, func(w *writer) { w.addPod(urgent, urgentPod) }},
		{8, (*writer).addCompetitor},
		{8, (*writer).addPreemptor},
		{6, (*writer).finishMembers},
		{3, (*writer).stickMember},
	}, callFaults()...)
}

// addFaults draws from three to eight.
func (w *writer) addFaults() {
	rows, total := faults(), 0
	for _, row := range rows {
		total += row.weight
	}
	for range 3 + w.rand.IntN(6) {
		drawn := w.rand.IntN(total)
		for _, row := range rows {
			if drawn -= row.weight; drawn < 0 {
				row.draw(w)
				break
			}
		}
	}
}

func (w *writer) down() time.Duration { return w.within(500 * time.Millisecond) }

func (w *writer) killScheduler() {
	at, moment := w.someTime(w.someGang())
	down := w.down()
	w.add(event{at, moment, "kill the scheduler", schedulerKilled, func(ctx context.Context, r *run) error { return r.lane.killScheduler(ctx, down) }})
}

func (w *writer) killMuster() {
	at, moment := w.someTime(w.someGang())
	down := w.down()
	w.add(event{at, moment, "kill muster", musterKilled, func(ctx context.Context, r *run) error { return r.lane.killMuster(ctx, down) }})
}

func (w *writer) killMusterAtCommit() {
	g, down := w.someGang(), w.down()
	w.trouble.slowBindings(g.name)
	w.add(event{0, moment{gang: g.name, committed: true}, "kill muster when it binds " + g.name, musterKilledAt, func(ctx context.Context, r *run) error {
		return r.lane.killMuster(ctx, down)
	}})
}

func (w *writer) killBoth() {
	w.killMuster()
	w.killScheduler()
}

func (w *writer) deleteMember() {
	g := w.someGang()
	at, moment := w.someTime(g)
	pod := memberName(g.name, w.rand.IntN(g.replicas))
	w.add(event{at, moment, "delete pod " + pod, memberDeleted, func(ctx context.Context, r *run) error { return r.deletePod(ctx, pod) }})
}

func (w *writer) editMinMember() {
	g := w.someGang()
	object := g.podGroup()
	if object == nil {
		return
	}
	at, moment := w.someTime(g)
	to := max(1, g.minMember+w.rand.IntN(4)-2)
	w.add(event{at, moment, fmt.Sprintf("edit minMember of %s to %d", g.name, to), minMemberEdited, func(ctx context.Context, r *run) error {
		return r.editMinMember(ctx, object, to)
	}})
}

// deletePodGroup has it come again, most times.
func (w *writer) deletePodGroup() {
	g := w.someGang()
	object := g.podGroup()
	if object == nil {
		return
	}
	at, moment := w.someTime(g)
	again, after := w.rand.IntN(4) > 0, w.within(window/4)
	w.add(event{at, moment, "delete PodGroup " + g.name, podGroupDeleted, func(ctx context.Context, r *run) error {
		if err := r.deletePodGroup(ctx, object); err != nil || !again {
			return err
		}
		pause(ctx, after)
		r.note("create PodGroup " + g.name + " again")
		return r.createPodGroup(ctx, object)
	}})
}

func (w *writer) delayPodGroup() {
	g := w.someGang()
	if g.label == v1alpha1.LabelMuster {
		return
	}
	for i := range w.events {
		if e := &w.events[i]; e.what == "create PodGroup "+g.name {
			e.at, e.fault = window/2+w.within(window/2), podGroupLate
		}
	}
}

// loseNode has it return, in half of the cases.
func (w *writer) loseNode() {
	node := w.nodes[w.rand.IntN(len(w.nodes))]
	at, moment := w.someTime(w.someGang())
	returns, after := w.rand.IntN(2) == 0, w.within(window/2)
	w.add(event{at, moment, "delete node " + node.Name, nodeLost, func(ctx context.Context, r *run) error {
		if err := r.deleteNode(ctx, node.Name); err != nil || !returns {
			return err
		}
		pause(ctx, after)
		r.note("create node " + node.Name + " again")
		return r.createNode(ctx, node)
	}})
}

// cordonNode has it open again, in half of the cases.
func (w *writer) cordonNode() {
	node := w.nodes[w.rand.IntN(len(w.nodes))]
	at, moment := w.someTime(w.someGang())
	opens, after := w.rand.IntN(2) == 0, w.within(window/2)
	w.add(event{at, moment, "cordon node " + node.Name, nodeCordoned, func(ctx context.Context, r *run) error {
		if err := r.cordon(ctx, node.Name, true); err != nil || !opens {
			return err
		}
		pause(ctx, after)
		r.note("uncordon node " + node.Name)
		return r.cordon(ctx, node.Name, false)
	}})
}

// addCompetitor has one more gang come.
func (w *writer) addCompetitor() {
	first := len(w.events)
	w.addGang("")
	w.events[first].fault = competitor
}

// addPreemptor has a gang come later that others have to make room for.
func (w *writer) addPreemptor() {
	first := len(w.events)
	w.addGang(urgent)
	later := window/3 + w.within(window/3)
	for i := range w.events[first:] {
		w.events[first+i].at += later
	}
	w.events[first].fault = preemptor
}

// finishMembers has some members of a gang end soon after they run.
func (w *writer) finishMembers() {
	g := w.someGang()
	g.finishing = 1 + w.rand.IntN(g.replicas)
	for number := range g.finishing {
		pod := g.pod(number)
		for i := range w.events {
			if e := &w.events[i]; e.what == "create pod "+pod.Name {
				e.fault, e.do = membersFinishing, func(ctx context.Context, r *run) error { return r.createPod(ctx, pod) }
			}
		}
	}
}

// stickMember has the bind call about a member come when the time of its gang is up, if that
// is not long.
func (w *writer) stickMember() {
	g := w.someGang()
	if g.timeout > gangTimeout {
		return
	}
	w.trouble.keep(memberName(g.name, w.rand.IntN(g.minMember)), callTooLate, g.timeout+w.within(time.Second))
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
