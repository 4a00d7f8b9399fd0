package gangfaults

import (
	"context"
	"fmt"
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
)

// What is done to processes and objects. What is done to calls is in trouble.go.
const (
	schedulerKilled  faultcampaign.Fault = "scheduler killed"
	musterKilled     faultcampaign.Fault = "muster killed"
	musterKilledAt   faultcampaign.Fault = "muster killed while it lets a gang go"
	memberDeleted    faultcampaign.Fault = "member deleted"
	minMemberEdited  faultcampaign.Fault = "minMember edited"
	podGroupDeleted  faultcampaign.Fault = "PodGroup deleted"
	podGroupLate     faultcampaign.Fault = "PodGroup created after its pods"
	nodeLost         faultcampaign.Fault = "node deleted"
	nodeCordoned     faultcampaign.Fault = "node cordoned"
	urgentPod        faultcampaign.Fault = "pod of higher priority"
	competitor       faultcampaign.Fault = "competing gang"
	preemptor        faultcampaign.Fault = "gang of higher priority"
	membersFinishing faultcampaign.Fault = "members finish"
	bundle           faultcampaign.Fault = "gangs that start together"
	membersRefused   faultcampaign.Fault = "gang with members that the scheduler refuses"
	formerLife       faultcampaign.Fault = "PodGroup created again beside members that have finished"
)

// addFaults draws from three to eight, by their weights.
func (w *writer) addFaults() {
	var all faultcampaign.Urn
	all.Add(3, w.killScheduler)
	all.Add(4, w.killMuster)
	all.Add(4, w.killMusterAtCommit)
	all.Add(1, w.killBoth)
	all.Add(10, w.deleteMember)
	all.Add(10, w.editMinMember)
	all.Add(8, w.deletePodGroup)
	all.Add(6, w.delayPodGroup)
	all.Add(8, w.loseNode)
	all.Add(6, w.cordonNode)
	all.Add(8, func() { w.addPod(urgent, urgentPod) })
	all.Add(8, w.addCompetitor)
	all.Add(8, w.addPreemptor)
	all.Add(6, w.finishMembers)
	all.Add(3, w.stickMember)
	all.Add(6, w.addBundle)
	all.Add(3, w.addRefused)
	all.Add(6, w.liveAgain)
	w.addDelays(&all)
	w.addCallFaults(&all)
	for range 3 + w.rand.IntN(6) {
		all.Draw(w.rand)
	}
}

func (w *writer) down() time.Duration { return w.within(500 * time.Millisecond) }

func (w *writer) killScheduler() {
	at, moment := w.someTime(w.someGang())
	down := w.down()
	w.add(
		event{
			at, moment, "kill the scheduler", schedulerKilled, func(ctx context.Context, r *run) error { return r.lane.KillScheduler(ctx, down) },
		},
	)
}

func (w *writer) killMuster() {
	at, moment := w.someTime(w.someGang())
	down := w.down()
	w.add(event{at, moment, "kill muster", musterKilled, func(ctx context.Context, r *run) error { return r.lane.KillMuster(ctx, down) }})
}

func (w *writer) killMusterAtCommit() {
	g, down := w.someGang(), w.down()
	w.slow[g.name] = true
	begins := moment{gang: g.name, committed: true}
	if w.setup.plain > 0 {
		begins = moment{gang: g.name, lifted: 1 + w.rand.IntN(g.minMember-1)}
	}
	w.add(
		event{
			0,
			begins,
			"kill muster when it lets members of " + g.name + " go",
			musterKilledAt,
			func(ctx context.Context, r *run) error {
				return r.lane.KillMuster(ctx, down)
			},
		},
	)
}

func (w *writer) killBoth() {
	w.killMuster()
	w.killScheduler()
}

func (w *writer) deleteMember() {
	g := w.someGang()
	at, moment := w.someTime(g)
	pod := memberName(g.name, w.rand.IntN(g.replicas))
	w.add(event{at, moment, "delete pod " + pod, memberDeleted, func(ctx context.Context, r *run) error { return r.lane.DeletePod(ctx, pod) }})
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
		faultcampaign.Pause(ctx, after)
		r.Note("create PodGroup " + g.name + " again")
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
		if err := r.lane.DeleteNode(ctx, node.Name); err != nil || !returns {
			return err
		}
		faultcampaign.Pause(ctx, after)
		r.Note("create node " + node.Name + " again")
		return r.lane.CreateNode(ctx, node)
	}})
}

// cordonNode has it open again, in half of the cases.
func (w *writer) cordonNode() {
	node := w.nodes[w.rand.IntN(len(w.nodes))]
	at, moment := w.someTime(w.someGang())
	opens, after := w.rand.IntN(2) == 0, w.within(window/2)
	w.add(event{at, moment, "cordon node " + node.Name, nodeCordoned, func(ctx context.Context, r *run) error {
		if err := r.lane.Cordon(ctx, node.Name, true); err != nil || !opens {
			return err
		}
		faultcampaign.Pause(ctx, after)
		r.Note("uncordon node " + node.Name)
		return r.lane.Cordon(ctx, node.Name, false)
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
	if g := w.someGang(); g.finishing == 0 {
		w.finish(g, 1+w.rand.IntN(g.replicas))
	}
}

// finish has the first members of a gang end soon after they run.
func (w *writer) finish(g *gang, count int) {
	g.finishing = count
	for number := range count {
		pod := g.pod(number)
		for i := range w.events {
			if e := &w.events[i]; e.what == "create pod "+pod.Name {
				e.fault, e.do = membersFinishing, func(ctx context.Context, r *run) error { return r.lane.CreatePod(ctx, pod) }
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
	w.keepBind(
		memberName(g.name, w.rand.IntN(g.minMember)), faultcampaign.Spoiled{Fault: callTooLate, Time: g.timeout + w.within(time.Second)},
	)
}
