package reschedulerfaults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
	rescheduling "muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// Priority classes above and below the default of 0.
const raised, lowered = "raised", "lowered"

// coresOfANode is the CPU of a node.
const coresOfANode = 4

// write draws the script of a seed.
func write(seed uint64) *script {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &writer{rand: r, script: script{seed: seed, trouble: faultcampaign.NewTrouble(seed)}}
	w.settings = settings{
		replicas: 1, mode: rescheduling.Auto, policies: w.policies(), selection: muster.Scheduler, budgets: w.budgets(), skew: musterSkew(seed),
		allowClaims: r.IntN(2) == 0, allowSingle: r.IntN(4) > 0,
	}
	w.settings.mark = []config.NodeMark{config.MarkNone, config.MarkTaint, config.MarkCordon}[r.IntN(3)]
	w.settings.closedFor = time.Duration(1+r.IntN(4)) * time.Second
	if r.IntN(3) == 0 {
		w.settings.replicas = 2
	}
	if r.IntN(5) == 0 {
		w.settings.selection = muster.Muster
	}
	if r.IntN(5) == 0 {
		w.settings.mode = rescheduling.Approve
	}
	w.approvedAfter = w.within(time.Second)
	for i := range 10 + r.IntN(4) {
		w.nodes = append(w.nodes, newNode(fmt.Sprintf("s%d-node-%d", seed, i), i))
	}
	if w.settings.jobs = r.IntN(5) == 0; w.settings.jobs {
		w.settings.budgets.perWorkload, w.settings.budgets.workloadCoolDown = 1, time.Minute
	}
	w.addWorkloads()
	w.addBeneficiaries()
	w.addPDBs()
	w.addWishes()
	w.addFaults()
	slices.SortStableFunc(w.events, func(a, b event) int { return int(a.at - b.at) })
	return &w.script
}

// newNode makes a node of one of three racks.
func newNode(name string, number int) *corev1.Node {
	node := workload.NewNode(name, workload.Milli(1000*coresOfANode), workload.Room(64, 20))
	node.Labels[rackLabel] = fmt.Sprint(number % 3)
	return node
}

// writer writes a script.
type writer struct {
	script
	rand *rand.Rand
	pods int
}

func (w *writer) add(e event) { w.events = append(w.events, e) }

// within draws a time of the window.
func (w *writer) within(part time.Duration) time.Duration {
	return time.Duration(w.rand.Int64N(int64(part)))
}

// policies draws the policies that are on: at most one main one, which others might undo, and some of the rest.
func (w *writer) policies() sets.Set[rescheduling.Policy] {
	on, r := sets.New(rescheduling.MakeRoom), w.rand
	switch main := r.IntN(10); {
	case main < 4:
		on.Insert(rescheduling.Coalesce)
	case main < 6:
		on.Insert(rescheduling.FreeDomains)
	case main < 7:
		on.Insert(rescheduling.Respread)
	case main < 8:
		on.Insert(rescheduling.Balance)
	default:
		on.Insert(rescheduling.Relieve)
	}
	if r.IntN(4) > 0 {
		on.Insert(rescheduling.Separate)
	}
	if r.IntN(4) > 0 {
		on.Insert(rescheduling.Repair)
	}
	return on
}

func (w *writer) budgets() budgets {
	r := w.rand
	b := budgets{
		perPlan: 4 + r.IntN(6), perWorkload: 2 + r.IntN(2),
		workloadCoolDown: w.coolDown(),
	}
	if r.IntN(8) == 0 {
		b.rate = rate{2 + r.IntN(3), time.Duration(4+r.IntN(9)) * time.Second}
	}
	if r.IntN(6) == 0 {
		b.webRate = rate{1 + r.IntN(2), time.Duration(4+r.IntN(9)) * time.Second}
	}
	if r.IntN(4) == 0 {
		b.webDown = 1 + r.IntN(3)/2
	}
	return b
}

// coolDown is none, shorter than a plan takes, or longer than a rescheduler needs to lead when another one was killed.
func (w *writer) coolDown() time.Duration {
	switch kind := w.rand.IntN(8); {
	case kind < 4:
		return 0
	case kind < 7:
		return time.Duration(1+w.rand.IntN(3)) * time.Second
	}
	return time.Duration(8+w.rand.IntN(5)) * time.Second
}

// addWorkloads fills about half of the cluster: the scheduler spreads that, so that
// each node has some room and none has much.
func (w *writer) addWorkloads() {
	r := w.rand
	room, load := int64(len(w.nodes))*coresOfANode*1000, int64(0)
	for least := room * (40 + r.Int64N(12)) / 100; load < least; {
		a := &replicas{
			name:     fmt.Sprintf("s%d-app-%d", w.seed, len(w.workloads)),
			count:    1 + r.IntN(3),
			milliCPU: []int64{500, 500, 500, 750, 1000, 1000, 1500, 2000}[r.IntN(8)],
			web:      r.IntN(2) == 0,
			grace:    int64(r.IntN(3)),
			priority: []string{"", "", "", "", "", "", lowered, raised}[r.IntN(8)],
			heat:     []int64{30, 50, 50, 70, 100, 150}[r.IntN(6)],
		}
		w.shape(a)
		w.workloads = append(w.workloads, a)
		load += a.milliCPU * int64(a.count)
	}
}

// shape draws what makes the pods, and what there is about them.
func (w *writer) shape(a *replicas) {
	r := w.rand
	if a.gang, a.kind = r.IntN(20) == 0, replicaSet; a.gang {
		a.count = 2
		return
	}
	switch kind := r.IntN(20); {
	case kind < 5:
		a.kind = statefulSet
	case kind < 9:
		a.kind = deployment
	case kind < 12 && w.settings.jobs:
		a.kind, a.grace = batch, 0
	case kind < 14 && w.settings.jobs:
		a.kind, a.grace, a.stays = batch, 0, failsByIt
	case kind == 14:
		a.stays = guards()[r.IntN(len(guards()))]
	}
	a.claims = a.stays == "" && r.IntN(8) == 0
}

// addBeneficiaries has pods come that fit nowhere, most probably, though there is room.
func (w *writer) addBeneficiaries() {
	r := w.rand
	count := 12 + r.IntN(6)
	if w.settings.spreads() {
		count = 3 + r.IntN(3)
	}
	for range count {
		w.addPod([]int64{2500, 3000, 3000, 3500}[r.IntN(4)], []string{"", "", "", "", "", raised}[r.IntN(6)], event{at: w.within(window * 2 / 3)})
	}
	if r.IntN(4) > 0 {
		return
	}
	gang := fmt.Sprintf("s%d-gang", w.seed)
	at := w.within(window / 3)
	for i := range 2 {
		pod := workload.NewPod(fmt.Sprintf("%s-%d", gang, i), workload.Milli([]int64{2000, 2500}[r.IntN(2)]))
		pod.Labels = map[string]string{schedulingv1alpha1.LabelMuster: gang}
		pod.Annotations = map[string]string{schedulingv1alpha1.AnnotationMinMember: "2"}
		w.add(event{at: at, what: "create pod " + pod.Name, do: func(ctx context.Context, r *run) error { return r.lane.CreatePod(ctx, pod) }})
	}
}

// addPod has a pod of no workload come.
func (w *writer) addPod(milliCPU int64, priority string, when event) {
	pod := workload.NewPod(fmt.Sprintf("s%d-single-%d", w.seed, w.pods), workload.Milli(milliCPU), workload.OfPriority(priority))
	if w.pods++; w.rand.IntN(4) > 0 || w.settings.spreads() { // so that there is room again, in pieces
		metav1.SetMetaDataAnnotation(&pod.ObjectMeta, controlplane.RunsForAnnotation, (time.Second + w.within(2*time.Second)).String())
	}
	when.what = fmt.Sprintf("create pod %s of %dm", pod.Name, milliCPU)
	when.do = func(ctx context.Context, r *run) error { return r.lane.CreatePod(ctx, pod) }
	w.add(when)
}

// addPDBs has some workloads have a budget, that allows a pod to be down or comes to do so.
func (w *writer) addPDBs() {
	for _, a := range w.workloads {
		if a.kind == batch { // nothing tells the API server how many pods they are to have: it lets none go
			continue
		}
		switch w.rand.IntN(6) {
		case 0:
			w.add(event{
				what: "create PodDisruptionBudget " + a.name,
				do:   func(ctx context.Context, r *run) error { return r.setBudget(ctx, a.budget(1)) },
			})
		case 1:
			at := w.within(window / 2)
			w.add(event{
				at:    at,
				what:  "forbid to evict " + a.name,
				fault: evictionForbidden,
				do:    func(ctx context.Context, r *run) error { return r.setBudget(ctx, a.budget(0)) },
			})
			w.add(event{
				at:   at + w.within(window/2),
				what: "allow to evict " + a.name,
				do:   func(ctx context.Context, r *run) error { return r.setBudget(ctx, a.budget(1)) },
			})
		}
	}
}

// someWorkload draws one of the existing workloads, except the system's.
func (w *writer) someWorkload() *replicas {
	all := slices.DeleteFunc(slices.Clone(w.workloads), func(a *replicas) bool { return a.stays == ofSystem })
	return all[w.rand.IntN(len(all))]
}

// someTime draws when something happens: in most cases in the middle of a plan.
func (w *writer) someTime() event {
	switch w.rand.IntN(5) {
	case 0:
		return event{at: w.within(window)}
	case 1:
		return event{moment: planMade}
	case 2:
		return event{moment: planRuns}
	default:
		return event{moment: podLeaves}
	}
}
