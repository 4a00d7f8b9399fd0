package gangfaults

import (
	"context"
	"fmt"
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
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
	w.addUpheavals(&all)
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

// addUpheavals adds what happens to objects of gangs whose members do not end, and to nodes, and who else comes.
func (w *writer) addUpheavals(to *faultcampaign.Urn) {
	to.Add(10, w.deleteMember)
	to.Add(10, w.editMinMember)
	to.Add(8, w.deletePodGroup)
	to.Add(6, w.delayPodGroup)
	to.Add(8, w.loseNode)
	to.Add(6, w.cordonNode)
	to.Add(8, func() { w.addPod(urgent, urgentPod) })
	to.Add(8, w.addCompetitor)
	to.Add(8, w.addPreemptor)
}

func (w *writer) down() time.Duration { return w.within(500 * time.Millisecond) }

func (w *writer) killScheduler() {
	at, moment := w.someTime(w.someGang())
	down := w.down()
	w.add(event{
		at, moment, "kill the scheduler", schedulerKilled, func(ctx context.Context, r *run) error { return r.lane.KillScheduler(ctx, down) },
	})
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
	if w.setup.ahead() {
		begins = moment{gang: g.name, lifted: 1 + w.rand.IntN(g.minMember-1)}
	}
	w.add(event{
		0,
		begins,
		"kill muster when it lets members of " + g.name + " go",
		musterKilledAt,
		func(ctx context.Context, r *run) error {
			return r.lane.KillMuster(ctx, down)
		},
	})
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
			e.at, e.fault = max(e.at, window/2)+w.within(window/2), podGroupLate
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

// What keeps muster from knowing what is, or from doing in time what it decides.
const (
	musterFrozen  faultcampaign.Fault = "muster frozen"
	overtaken     faultcampaign.Fault = "old leader goes on after another one has taken over"
	watchHeldBack faultcampaign.Fault = "watch events late"
	apiServerSlow faultcampaign.Fault = "API server slow"
)

const (
	longestFreeze  = bindTimeout + 2*time.Second // longer than the scheduler waits
	longestHolding = 5 * time.Second
)

// addDelays puts in those faults. A muster that runs for election is not frozen for itself: it would end.
func (w *writer) addDelays(to *faultcampaign.Urn) {
	if w.setup.elects {
		to.Add(12, w.overtake)
	} else {
		to.Add(4, w.freeze)
	}
	to.Add(8, w.holdWatch)
	to.Add(6, w.slowServer)
}

// later notes that muster may know so late of something.
func (w *writer) later(by time.Duration) { w.behind += by }

func (w *writer) freeze() {
	at, moment := w.someTime(w.someGang())
	length := 200*time.Millisecond + w.within(2*time.Second)
	if w.rand.IntN(3) == 0 {
		length = bindTimeout + w.within(longestFreeze-bindTimeout)
	}
	w.later(length)
	w.add(event{at, moment, fmt.Sprintf("freeze muster for %s", length), musterFrozen, func(ctx context.Context, r *run) error {
		return r.lane.FreezeMuster(ctx, length)
	}})
}

// overtake has another muster lead while the leader is frozen or does not get at its lease. Then that one goes on,
// with the calls that wait there.
func (w *writer) overtake() {
	at, moment := w.someTime(w.someGang())
	frozen, alone := w.rand.IntN(2) == 0, w.within(time.Second)
	how := "is kept from its lease"
	if frozen {
		how = "is frozen"
	}
	w.later(leaseDuration + alone)
	w.add(event{at, moment, "have another muster take over while the leader " + how, overtaken, func(ctx context.Context, r *run) error {
		return r.lane.overtake(ctx, frozen, alone)
	}})
}

// holdWatch has what becomes of a kind of objects reach muster late, all at once.
func (w *writer) holdWatch() {
	at, moment := w.someTime(w.someGang())
	kind := []string{ofPods, ofPods, ofPodGroups, ofNodes}[w.rand.IntN(4)]
	length := 100*time.Millisecond + w.within(time.Second)
	if w.rand.IntN(4) == 0 {
		length = time.Second + w.within(longestHolding-time.Second)
	}
	w.later(length)
	w.add(event{
		at, moment, fmt.Sprintf("hold back what muster hears of %s for %s", kind, length), watchHeldBack,
		func(ctx context.Context, r *run) error {
			r.traffic.holdBack(ctx, kind, length)
			return nil
		},
	})
}

// slowServer has each call of muster's to the API server take longer, until nothing goes wrong any more.
func (w *writer) slowServer() {
	at, by := w.within(window/2), 50*time.Millisecond+w.within(150*time.Millisecond)
	w.add(event{at, moment{}, fmt.Sprintf("slow the API server by %s", by), apiServerSlow, func(_ context.Context, r *run) error {
		r.traffic.slowness.Store(int64(by))
		return nil
	}})
}

// Calls of the scheduler to muster, and of muster to the API server.
const (
	filterCall faultcampaign.Verb = "filter"
	bindCall   faultcampaign.Verb = "bind"

	binding    faultcampaign.Verb = "binding"
	nomination faultcampaign.Verb = "nomination"
	podChange  faultcampaign.Verb = "change of a pod"
	gateLift   faultcampaign.Verb = "lifting of a gate"
	groupState faultcampaign.Verb = "PodGroup status"
	startOf    faultcampaign.Verb = "record of a start"
)

// What happens to calls of the scheduler.
const (
	callDelayed   faultcampaign.Fault = "delayed"
	callTooLate   faultcampaign.Fault = "later than the deadline"
	callCut       faultcampaign.Fault = "cut"
	answerLost    faultcampaign.Fault = "answer lost"
	callRepeated  faultcampaign.Fault = "repeated"
	callElsewhere faultcampaign.Fault = "repeated for another node"
)

// keepBind has something happen to the first bind call about a pod.
func (w *writer) keepBind(pod string, s faultcampaign.Spoiled) {
	w.trouble.First[faultcampaign.Call{Verb: bindCall, About: pod}] = s
}

// addCallFaults puts in the faults of calls.
func (w *writer) addCallFaults(to *faultcampaign.Urn) {
	for _, f := range []faultcampaign.Fault{callDelayed, callCut, answerLost, callRepeated, callElsewhere} {
		to.Add(4, func() {
			v := bindCall
			if f != callRepeated && f != callElsewhere && w.rand.IntN(3) == 0 {
				v = filterCall
			}
			w.trouble.Add(v, f, 0.1+0.3*w.rand.Float64())
		})
	}
	w.trouble.AddAPIFaults(to, w.rand, []faultcampaign.Verb{binding, binding, nomination, podChange, gateLift, groupState, startOf}, 0.4)
}
