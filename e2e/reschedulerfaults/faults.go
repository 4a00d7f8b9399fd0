package reschedulerfaults

import (
	"context"
	"fmt"
	"time"
)

// fault is a kind of things that go wrong.
type fault string

// What is done to processes and objects. What is done to calls is in trouble.go.
const (
	schedulerKilled   fault = "scheduler killed"
	musterKilled      fault = "muster killed"
	musterFrozen      fault = "muster frozen"
	reschedulerKilled fault = "rescheduler killed"
	reschedulerFrozen fault = "rescheduler frozen"
	victimDeleted     fault = "victim deleted"
	workloadScaled    fault = "workload scaled"
	workloadDeleted   fault = "workload deleted"
	nodeLost          fault = "node deleted"
	nodeCordoned      fault = "node cordoned"
	nodeAdded         fault = "node added"
	targetClosed      fault = "target cordoned while the scheduler is down"
	planDeleted       fault = "plan deleted"
	planEdited        fault = "plan edited"
	thief             fault = "pod that wants the room"
	preemptor         fault = "pod of higher priority that wants the room"
	tierDown          fault = "pod of a bounded tier that does not run"
	evictionForbidden fault = "eviction forbidden by a budget"
	planForbidden     fault = "plan forbidden by a budget"
)

// row says how often a fault is drawn, by weight, and how.
type row struct {
	weight int
	draw   func(*writer)
}

// faults are all that a seed may draw.
func faults() []row {
	return append([]row{
		{4, (*writer).killScheduler},
		{6, (*writer).killMuster},
		{6, (*writer).freezeMuster},
		{12, (*writer).killRescheduler},
		{6, (*writer).freezeRescheduler},
		{6, (*writer).deleteVictim},
		{6, (*writer).scale},
		{4, (*writer).deleteWorkload},
		{6, (*writer).loseNode},
		{6, (*writer).cordonNode},
		{4, (*writer).addNode},
		{14, (*writer).closeTarget},
		{4, (*writer).deletePlan},
		{6, (*writer).editPlan},
		{20, (*writer).addThief},
		{10, (*writer).addPreemptor},
		{30, (*writer).holdDown},
		{16, (*writer).forbidPlan},
	}, callFaults()...)
}

// addFaults draws from two to six.
func (w *writer) addFaults() {
	rows, total := faults(), 0
	for _, row := range rows {
		total += row.weight
	}
	for range 2 + w.rand.IntN(5) {
		drawn := w.rand.IntN(total)
		for _, row := range rows {
			if drawn -= row.weight; drawn < 0 {
				row.draw(w)
				break
			}
		}
	}
}

// happen adds an event at some time, mostly in the middle of a plan.
func (w *writer) happen(what string, f fault, do func(context.Context, *run) error) {
	e := w.someTime()
	e.what, e.fault, e.do = what, f, do
	w.add(e)
}

func (w *writer) down() time.Duration { return w.within(time.Second) }

func (w *writer) killScheduler() {
	down := w.down()
	w.happen("kill the scheduler", schedulerKilled, func(ctx context.Context, r *run) error { return r.lane.killScheduler(ctx, down) })
}

func (w *writer) killMuster() {
	down := w.down()
	w.happen("kill muster", musterKilled, func(ctx context.Context, r *run) error { return r.lane.killMuster(ctx, down) })
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
			r.note("delete pod " + pod)
			return r.deletePod(ctx, pod)
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
		pause(ctx, after)
		return r.cordon(ctx, name, false)
	})
}

func (w *writer) addNode() {
	node := newNode(fmt.Sprintf("s%d-new-%d", w.seed, len(w.events)))
	w.happen("create node "+node.Name, nodeAdded, func(ctx context.Context, r *run) error { return r.createNode(ctx, node) })
}

// closeTarget closes the node that the last pod of a plan is to go to, while another one waits for a
// scheduler; or that one is the last, and has been evicted already.
func (w *writer) closeTarget() {
	some, down := w.nodes[w.rand.IntN(len(w.nodes))].Name, 2*time.Second+w.down()
	w.add(event{moment: planMade, what: "kill the scheduler", fault: schedulerKilled, do: func(ctx context.Context, r *run) error {
		return r.lane.killScheduler(ctx, down)
	}})
	w.add(event{moment: podLeaves, what: "cordon where the last pod is to go", fault: targetClosed, do: func(ctx context.Context, r *run) error {
		return r.cordon(ctx, r.lastTarget(some), true)
	}})
}

func (w *writer) deletePlan() {
	w.happen("delete the plan", planDeleted, func(ctx context.Context, r *run) error { return r.deletePlan(ctx) })
}

func (w *writer) editPlan() {
	w.happen("annotate the plan", planEdited, func(ctx context.Context, r *run) error {
		for range 5 { // while its status is written as well
			if err := r.annotatePlan(ctx); err != nil {
				return err
			}
			pause(ctx, 100*time.Millisecond)
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

// holdDown has a pod come that fits nowhere, of the tier of which so many may be down, and go again. In
// half of the cases a rescheduler is killed that may have counted it.
func (w *writer) holdDown() {
	pod := newPod(fmt.Sprintf("s%d-down-%d", w.seed, len(w.events)), (coresOfANode+1)*1000, lowered)
	pod.Labels = map[string]string{tierLabel: tierWeb}
	at, lasts := w.within(window/2), 3*time.Second+w.within(window/3)
	w.add(event{at: at, what: "create pod " + pod.Name, fault: tierDown, do: func(ctx context.Context, r *run) error {
		if err := r.createPod(ctx, pod); err != nil {
			return err
		}
		pause(ctx, lasts)
		return r.deletePod(ctx, pod.Name)
	}})
	if replica := w.rand.IntN(2 * w.settings.replicas); replica < w.settings.replicas {
		w.add(event{at: at, what: fmt.Sprintf("kill rescheduler %d", replica), fault: reschedulerKilled, do: func(ctx context.Context, r *run) error {
			return r.lane.killRescheduler(ctx, replica, 0)
		}})
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
		r.note("forbid to evict " + moving)
		if err := r.setBudget(ctx, (&replicas{name: moving}).budget(0)); err != nil {
			return err
		}
		pause(ctx, after)
		r.note("allow to evict " + moving)
		return r.setBudget(ctx, (&replicas{name: moving}).budget(1))
	}})
}

func (w *writer) addPreemptor() {
	when := w.someTime()
	when.fault, when.after = preemptor, w.within(window/2)
	w.addPod([]int64{1000, 2000, 3000}[w.rand.IntN(3)], raised, when)
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
