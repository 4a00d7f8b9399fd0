package reschedulerfaults

import (
	"context"
	"fmt"
	"time"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// What is done to processes and objects. What is done to calls is in trouble.go.
const (
	schedulerKilled   faultcampaign.Fault = "scheduler killed"
	musterKilled      faultcampaign.Fault = "muster killed"
	musterFrozen      faultcampaign.Fault = "muster frozen"
	reschedulerKilled faultcampaign.Fault = "rescheduler killed"
	reschedulerFrozen faultcampaign.Fault = "rescheduler frozen"
	victimDeleted     faultcampaign.Fault = "victim deleted"
	workloadScaled    faultcampaign.Fault = "workload scaled"
	workloadDeleted   faultcampaign.Fault = "workload deleted"
	workloadChanged   faultcampaign.Fault = "requests of a workload changed"
	nodeLost          faultcampaign.Fault = "node deleted"
	nodeCordoned      faultcampaign.Fault = "node cordoned"
	nodeAdded         faultcampaign.Fault = "node added"
	targetClosed      faultcampaign.Fault = "target cordoned while the scheduler is down"
	planDeleted       faultcampaign.Fault = "plan deleted"
	plansDeleted      faultcampaign.Fault = "all plans deleted that have ended"
	allPlansDeleted   faultcampaign.Fault = "all plans deleted"
	planEdited        faultcampaign.Fault = "plan edited"
	dryRun            faultcampaign.Fault = "mode DryRun for a while"
	thief             faultcampaign.Fault = "pod that wants the room"
	preemptor         faultcampaign.Fault = "pod of higher priority that wants the room"
	tierDown          faultcampaign.Fault = "pod of a bounded tier that does not run"
	evictionForbidden faultcampaign.Fault = "eviction forbidden by a budget"
	planForbidden     faultcampaign.Fault = "plan forbidden by a budget"
	askFirst          faultcampaign.Fault = "mode Approve for a while"
	rolledOut         faultcampaign.Fault = "new template of a workload"
	resized           faultcampaign.Fault = "requests changed on creation"
	separated         faultcampaign.Fault = "pods asked to leave"
	nodeTainted       faultcampaign.Fault = "node tainted"
)

// addFaults draws from two to six, by their weights.
func (w *writer) addFaults() {
	var all faultcampaign.Urn
	all.Add(4, w.killScheduler)
	all.Add(6, w.killMuster)
	all.Add(6, w.freezeMuster)
	all.Add(12, w.killRescheduler)
	all.Add(6, w.freezeRescheduler)
	all.Add(6, w.deleteVictim)
	all.Add(6, w.scale)
	all.Add(4, w.deleteWorkload)
	all.Add(10, w.changeWorkload)
	all.Add(10, w.rollOut)
	all.Add(12, w.resize)
	all.Add(6, w.loseNode)
	all.Add(6, w.cordonNode)
	all.Add(4, w.addNode)
	all.Add(14, w.closeTarget)
	all.Add(8, w.deletePlan)
	all.Add(12, w.deletePlans)
	all.Add(6, w.editPlan)
	all.Add(12, w.stopForAWhile)
	all.Add(8, w.askForAWhile)
	all.Add(20, w.addThief)
	all.Add(10, w.addPreemptor)
	all.Add(14, w.holdDown)
	all.Add(12, w.forbidPlan)
	w.addCallFaults(&all)
	for range 2 + w.rand.IntN(5) {
		all.Draw(w.rand)
	}
}

// happen adds an event at some time, mostly in the middle of a plan.
func (w *writer) happen(what string, f faultcampaign.Fault, do func(context.Context, *run) error) {
	e := w.someTime()
	e.what, e.fault, e.do = what, f, do
	w.add(e)
}

func (w *writer) down() time.Duration { return w.within(time.Second) }

func (w *writer) killScheduler() {
	down := w.down()
	w.happen("kill the scheduler", schedulerKilled, func(ctx context.Context, r *run) error { return r.lane.KillScheduler(ctx, down) })
}

func (w *writer) killMuster() {
	down := w.down()
	w.happen("kill muster", musterKilled, func(ctx context.Context, r *run) error { return r.lane.KillMuster(ctx, down) })
}

func (w *writer) freezeMuster() {
	down := w.down()
	w.happen("freeze muster", musterFrozen, func(ctx context.Context, r *run) error { return r.lane.freezeMuster(ctx, down) })
}

func (w *writer) killRescheduler() {
	down, replica := w.down(), w.rand.IntN(w.settings.replicas)
	w.happen(fmt.Sprintf("kill rescheduler %d", replica), reschedulerKilled, func(ctx context.Context, r *run) error {
		return r.lane.killRescheduler(ctx, replica, down)
	})
}

// freezeRescheduler does so for longer than its lease lasts, in some cases.
func (w *writer) freezeRescheduler() {
	down, replica := w.within(2*leaseDuration), w.rand.IntN(w.settings.replicas)
	w.happen(fmt.Sprintf("freeze rescheduler %d", replica), reschedulerFrozen, func(ctx context.Context, r *run) error {
		return r.lane.freezeRescheduler(ctx, replica, down)
	})
}

func (w *writer) deleteVictim() {
	w.happen("delete a pod that is to be evicted", victimDeleted, func(ctx context.Context, r *run) error {
		if pod := r.victim(); pod != "" {
			r.Note("delete pod " + pod)
			return r.lane.DeletePod(ctx, pod)
		}
		return nil
	})
}

// scale changes how many pods a workload has: of one that moves, if there is one.
func (w *writer) scale() {
	some, by := w.someWorkload().name, []int{-1, -1, 1}[w.rand.IntN(3)]
	w.happen(fmt.Sprintf("scale a workload by %d", by), workloadScaled, func(ctx context.Context, r *run) error {
		return r.scale(ctx, r.movingWorkload(some), by)
	})
}

func (w *writer) deleteWorkload() {
	some := w.someWorkload().name
	w.happen("delete a workload", workloadDeleted, func(ctx context.Context, r *run) error {
		return r.deleteWorkload(ctx, r.movingWorkload(some))
	})
}

// changeWorkload has the pods of a workload that come from now on request something else: as a vertical autoscaler does,
// and with a StatefulSet as a rollout, which replaces all.
func (w *writer) changeWorkload() {
	some, milliCPU := w.someWorkload().name, []int64{250, 500, 1000, 2000}[w.rand.IntN(4)]
	w.happen(fmt.Sprintf("have the pods of a workload request %dm", milliCPU), workloadChanged, func(ctx context.Context, r *run) error {
		return r.changeRequests(ctx, r.movingWorkload(some), milliCPU)
	})
}

// rollOut brings a new template whose pods request the same: a Deployment and a StatefulSet replace all.
func (w *writer) rollOut() {
	some := w.someWorkload().name
	w.happen("roll out a workload", rolledOut, func(ctx context.Context, r *run) error {
		return r.rollOut(ctx, r.movingWorkload(some))
	})
}

// resize has the pods of a workload request something else when they are created: what a vertical autoscaler does.
func (w *writer) resize() {
	some, milliCPU := w.someWorkload().name, []int64{250, 500, 1000, 2000, 3000}[w.rand.IntN(5)]
	w.happen(fmt.Sprintf("have the pods of a workload created with %dm", milliCPU), resized, func(ctx context.Context, r *run) error {
		return r.resize(ctx, r.movingWorkload(some), milliCPU)
	})
}

// node is one that the plan of now is about, or any.
func (w *writer) node() func(*run) string {
	some, leaves := w.nodes[w.rand.IntN(len(w.nodes))].Name, w.rand.IntN(3) == 0
	return func(r *run) string { return r.planNode(leaves, some) }
}

func (w *writer) loseNode() {
	node := w.node()
	w.happen("delete a node", nodeLost, func(ctx context.Context, r *run) error { return r.deleteNode(ctx, node(r)) })
}

// cordonNode has it open again, in half of the cases.
func (w *writer) cordonNode() {
	node, opens, after := w.node(), w.rand.IntN(2) == 0, w.within(window/2)
	w.happen("cordon a node", nodeCordoned, func(ctx context.Context, r *run) error {
		name := node(r)
		if err := r.cordon(ctx, name, true); err != nil || !opens {
			return err
		}
		faultcampaign.Pause(ctx, after)
		return r.cordon(ctx, name, false)
	})
}

func (w *writer) addNode() { w.addNodeAt(w.someTime()) }

func (w *writer) addNodeAt(when event) {
	node := newNode(fmt.Sprintf("s%d-new-%d", w.seed, len(w.events)), len(w.events))
	when.what, when.fault = "create node "+node.Name, nodeAdded
	when.do = func(ctx context.Context, r *run) error { return r.lane.CreateNode(ctx, node) }
	w.add(when)
}

// closeTarget closes the node that the last pod of a plan is to go to, while another one waits for a
// scheduler; or that one is the last, and has been evicted already.
func (w *writer) closeTarget() {
	some, down := w.nodes[w.rand.IntN(len(w.nodes))].Name, 2*time.Second+w.down()
	w.add(event{moment: planMade, what: "kill the scheduler", fault: schedulerKilled, do: func(ctx context.Context, r *run) error {
		return r.lane.KillScheduler(ctx, down)
	}})
	w.add(
		event{moment: podLeaves, what: "cordon where the last pod is to go", fault: targetClosed, do: func(ctx context.Context, r *run) error {
			return r.cordon(ctx, r.lastTarget(some), true)
		}},
	)
}

func (w *writer) deletePlan() {
	w.happen("delete the plan", planDeleted, func(ctx context.Context, r *run) error { return r.deletePlan(ctx) })
}

// deletePlans has somebody delete plans after a pod was evicted, most often only ended ones. In half of the cases the
// reschedulers are killed after that, so that no process remembers the evictions of these plans. Few of them are allowed.
func (w *writer) deletePlans() {
	e := event{moment: podLeaves, after: w.within(window / 6), what: "delete plans that have ended", fault: plansDeleted}
	all := w.rand.IntN(3) == 0
	if all {
		e.what, e.fault = "delete all plans", allPlansDeleted
	}
	kills := w.rand.IntN(2) == 0
	if kills {
		w.settings.budgets.rate = rate{2 + w.rand.IntN(2), window}
	}
	e.do = func(ctx context.Context, r *run) error {
		if err := r.deletePlans(ctx, func(p *v1alpha1.ReschedulingPlan) bool { return all || p.Ended() }); err != nil || !kills {
			return err
		}
		for replica := range r.script.settings.replicas {
			if err := r.lane.killRescheduler(ctx, replica, 0); err != nil {
				return err
			}
		}
		return nil
	}
	w.add(e)
}

func (w *writer) editPlan() {
	w.happen("annotate the plan", planEdited, func(ctx context.Context, r *run) error {
		for range 5 { // while its status is written as well
			if err := r.annotatePlan(ctx); err != nil {
				return err
			}
			faultcampaign.Pause(ctx, 100*time.Millisecond)
		}
		return nil
	})
}

// addThief has pods come that the room which is kept would suit.
func (w *writer) addThief() {
	priority := []string{"", lowered}[w.rand.IntN(2)]
	for range 2 + w.rand.IntN(4) {
		when := w.someTime()
		when.fault, when.after = thief, w.within(window/2)
		w.addPod([]int64{500, 1000, 1500, 2000}[w.rand.IntN(4)], priority, when)
	}
}

// holdDown has a pod come that fits nowhere, of the tier with a bound on pods that are down, and go
// again. In half of the cases a rescheduler is killed that may have counted it.
func (w *writer) holdDown() {
	pod := workload.NewPod(
		fmt.Sprintf("s%d-down-%d", w.seed, len(w.events)),
		workload.Milli((coresOfANode+1)*1000),
		workload.OfPriority(lowered),
	)
	pod.Labels = map[string]string{tierLabel: tierWeb}
	at, lasts := w.within(window/2), 3*time.Second+w.within(window/3)
	w.add(event{at: at, what: "create pod " + pod.Name, fault: tierDown, do: func(ctx context.Context, r *run) error {
		if err := r.lane.CreatePod(ctx, pod); err != nil {
			return err
		}
		faultcampaign.Pause(ctx, lasts)
		return r.lane.DeletePod(ctx, pod.Name)
	}})
	if replica := w.rand.IntN(2 * w.settings.replicas); replica < w.settings.replicas {
		w.add(
			event{at: at, what: fmt.Sprintf("kill rescheduler %d", replica), fault: reschedulerKilled, do: func(ctx context.Context, r *run) error {
				return r.lane.killRescheduler(ctx, replica, 0)
			}},
		)
	}
}

// forbidPlan has a budget forbid what a plan is about to do, for seconds in which its room is kept.
func (w *writer) forbidPlan() {
	after := time.Second + w.within(window/2)
	w.add(event{moment: planMade, what: "forbid to evict what is to move", fault: planForbidden, do: func(ctx context.Context, r *run) error {
		moving := r.movingWorkload("")
		if moving == "" {
			return nil
		}
		r.Note("forbid to evict " + moving)
		if err := r.setBudget(ctx, (&replicas{name: moving}).budget(0)); err != nil {
			return err
		}
		faultcampaign.Pause(ctx, after)
		r.Note("allow to evict " + moving)
		return r.setBudget(ctx, (&replicas{name: moving}).budget(1))
	}})
}

func (w *writer) addPreemptor() {
	when := w.someTime()
	when.fault, when.after = preemptor, w.within(window/2)
	w.addPod([]int64{1000, 2000, 3000}[w.rand.IntN(3)], raised, when)
}
