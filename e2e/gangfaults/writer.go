package gangfaults

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
)

// Priority classes above the default of 0.
const raised, urgent = "raised", "urgent"

// Of nodes and of what is on them.
const coresOfANode = 4

// write draws the script of a seed, for a scheduler that calls muster.
func write(seed uint64) *script { return draw(seed, setupOf(seed), (*writer).addFaults) }

// draw draws a script with faults.
func draw(seed uint64, to setup, addFaults func(*writer)) *script {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &writer{
		rand: r,
		script: script{
			seed:    seed,
			setup:   to,
			gangs:   map[string]*gang{},
			trouble: faultcampaign.NewTrouble(seed),
			slow:    map[string]bool{},
		},
	}
	for i := range 4 + r.IntN(5) {
		node := faultcampaign.NewNode(fmt.Sprintf("s%d-node-%d", seed, i), coresOfANode)
		w.offerDevices(node)
		w.nodes = append(w.nodes, node)
	}
	room := int64(len(w.nodes)) * coresOfANode * 1000
	load, atLeast := int64(0), room*int64(50+r.IntN(110))/100
	for len(w.gangs) < 5 && (len(w.gangs) == 0 || load < atLeast) {
		g := w.addGang("")
		load += g.milliCPU * int64(g.replicas)
	}
	for range r.IntN(4) {
		w.addPod("", "")
	}
	addFaults(w)
	slices.SortStableFunc(w.events, func(a, b event) int { return int(a.at - b.at) })
	return &w.script
}

// writer writes a script.
type writer struct {
	script
	rand     *rand.Rand
	pods     int
	refusing bool // there is a gang with members that the scheduler refuses
}

func (w *writer) add(e event) { w.events = append(w.events, e) }

// within draws a time of the window.
func (w *writer) within(part time.Duration) time.Duration {
	return time.Duration(w.rand.Int64N(int64(part)))
}

// addGang draws a gang of a priority class, or of any that is not urgent, and has its pods come
// one after the other, soon.
func (w *writer) addGang(priority string) *gang {
	g := w.drawGang(priority)
	w.addEvents(g)
	return g
}

// drawGang draws a gang that is not there yet.
func (w *writer) drawGang(priority string) *gang {
	r := w.rand
	label := v1alpha1.LabelX
	switch r.IntN(6) {
	case 0:
		label = v1alpha1.LabelSigs
	case 1:
		label = v1alpha1.LabelMuster
	}
	g := &gang{
		name:      fmt.Sprintf("s%d-%c", w.seed, 'a'+rune(len(w.gangs))),
		label:     label,
		minMember: 2 + r.IntN(5),
		milliCPU:  []int64{500, 1000, 1500, 2000, 3000}[r.IntN(5)],
		timeout:   []time.Duration{2 * time.Second, 3 * time.Second, 5 * time.Second, 20 * time.Second}[r.IntN(4)],
		match:     matchPolicies()[r.IntN(5)],
		lax:       r.IntN(4) == 0,
		replaced:  r.IntN(2) == 0,
		priority:  priority,
	}
	g.replicas = g.minMember + r.IntN(3)
	if label == v1alpha1.LabelMuster {
		g.timeout = gangTimeout
	}
	if priority == "" && r.IntN(4) == 0 {
		g.priority = raised
	}
	switch r.IntN(12) {
	case 0, 1:
		g.asks = g.milliCPU * int64(g.minMember)
	case 2:
		g.asks = 1_000_000 // more than there is
	}
	w.claimDevices(g)
	w.gangs[g.name] = g
	return g
}

// matchPolicies are drawn from; "" has a group say nothing.
func matchPolicies() []v1alpha1.MatchPolicy {
	return []v1alpha1.MatchPolicy{"", "", v1alpha1.MatchWaitingAndBound, v1alpha1.MatchOnceSatisfied, v1alpha1.MatchOnlyWaiting}
}

// addEvents has the PodGroup of a gang and its pods come.
func (w *writer) addEvents(g *gang) {
	at := w.within(window / 4)
	if object := g.podGroup(); object != nil {
		w.add(
			event{at: at, what: "create PodGroup " + g.name, do: func(ctx context.Context, r *run) error { return r.createPodGroup(ctx, object) }},
		)
	}
	spread := w.within(window/10) + 1
	for i := range g.replicas {
		pod := g.pod(i)
		w.add(event{
			at:   at + w.within(spread),
			what: "create pod " + pod.Name,
			do:   func(ctx context.Context, r *run) error { return r.lane.CreatePod(ctx, pod) },
		})
	}
}

// addPod has a pod of no gang come.
func (w *writer) addPod(priority string, of faultcampaign.Fault) {
	pod := faultcampaign.NewPod(fmt.Sprintf("s%d-single-%d", w.seed, w.pods), []int64{500, 1000, 2000}[w.rand.IntN(3)], priority)
	w.pods++
	w.add(event{
		at:    w.within(window),
		fault: of,
		what:  "create pod " + pod.Name,
		do:    func(ctx context.Context, r *run) error { return r.lane.CreatePod(ctx, pod) },
	})
}

// someGang is one of those that there are.
func (w *writer) someGang() *gang {
	names := slices.Sorted(maps.Keys(w.gangs))
	return w.gangs[names[w.rand.IntN(len(names))]]
}

// someTime draws when something happens to a gang: in half of the cases while members of it
// are held, for which the bind call about one of them is kept for a while, or while muster
// reserves its places or lets it go.
func (w *writer) someTime(g *gang) (time.Duration, moment) {
	at := w.within(window)
	if w.rand.IntN(2) == 0 {
		return at, moment{}
	}
	if w.setup.plain > 0 {
		return 0, w.midway(g)
	}
	w.keepBind(
		memberName(g.name, w.rand.IntN(g.replicas)),
		faultcampaign.Spoiled{Fault: callDelayed, Time: 200*time.Millisecond + w.within(600*time.Millisecond)},
	)
	return 0, moment{gang: g.name, held: 1 + w.rand.IntN(g.minMember-1)}
}
