package gangfaults

import (
	"context"
	"fmt"
	"time"

	"muster.dev/muster/e2e/faultcampaign"
)

// What happens beside plain schedulers alone.
const (
	rivalPods   faultcampaign.Fault = "pods of the same priority race for the room"
	urgentPods  faultcampaign.Fault = "pods of higher priority race for the room"
	mostRivals                      = 4
	rivalsApart                     = 40 * time.Millisecond
)

// aheadSetupOf returns the setup of a seed beside plain schedulers: the setups take turns.
func aheadSetupOf(seed uint64) setup {
	s := []setup{
		{gates: never, plain: 1}, {gates: never, plain: 2}, {gates: never, plain: 1, elects: true}, {gates: never, plain: 2},
	}[seed/seedsPerSetup%4]
	s.skew = skewOf(seed)
	return s
}

// writeAhead draws the script of a seed for plain schedulers.
func writeAhead(seed uint64) *script { return draw(seed, aheadSetupOf(seed), (*writer).addAheadFaults) }

// addAheadFaults draws from three to eight, by their weights. Where the scheduler makes no calls, nothing happens
// to them; and no member is refused that muster knows of nothing against.
func (w *writer) addAheadFaults() {
	var all faultcampaign.Urn
	all.Add(8, w.killScheduler)
	all.Add(4, w.killMuster)
	all.Add(6, w.killMusterAtCommit)
	all.Add(2, w.killBoth)
	all.Add(10, w.deleteMember)
	all.Add(6, w.editMinMember)
	all.Add(4, w.deletePodGroup)
	all.Add(4, w.delayPodGroup)
	all.Add(10, w.loseNode)
	all.Add(6, w.cordonNode)
	all.Add(4, func() { w.addPod(urgent, urgentPod) })
	all.Add(6, w.addCompetitor)
	all.Add(6, w.addPreemptor)
	all.Add(4, w.finishMembers)
	all.Add(4, w.addBundle)
	all.Add(3, w.liveAgain)
	all.Add(16, func() { w.addRivals("", rivalPods) })
	all.Add(8, func() { w.addRivals(urgent, urgentPods) })
	w.addDelays(&all)
	w.trouble.AddAPIFaults(&all, w.rand, []faultcampaign.Verb{nomination, nomination, gateLift, gateLift, podChange, groupState, startOf}, 0.4)
	for range 3 + w.rand.IntN(6) {
		all.Draw(w.rand)
	}
}

// midway draws a moment at which muster has reserved some places of a gang, or has let some members go.
func (w *writer) midway(g *gang) moment {
	some := 1 + w.rand.IntN(g.minMember)
	if w.rand.IntN(2) == 0 {
		return moment{gang: g.name, nominated: some}
	}
	return moment{gang: g.name, lifted: some}
}

// begun is when muster has begun to let a gang go.
func (w *writer) begun(g *gang) moment {
	if w.setup.plain > 0 {
		return moment{gang: g.name, lifted: 1}
	}
	return moment{gang: g.name, committed: true}
}

// addRivals has pods come that fit where members of a gang do, one after the other: of the priority of the gang, or
// of a class.
func (w *writer) addRivals(class string, of faultcampaign.Fault) {
	g := w.someGang()
	if class == "" {
		class = g.priority
	}
	at, moment := w.someTime(g)
	count := 1 + w.rand.IntN(mostRivals)
	first, milliCPU := w.pods, g.milliCPU-500*int64(w.rand.IntN(2))
	w.pods += count
	w.add(event{at, moment, fmt.Sprintf("create %d pods that race with %s", count, g.name), of, func(ctx context.Context, r *run) error {
		for i := range count {
			pod := faultcampaign.NewPod(fmt.Sprintf("s%d-single-%d", r.script.seed, first+i), max(milliCPU, 500), class)
			if err := r.lane.CreatePod(ctx, pod); err != nil {
				return err
			}
			faultcampaign.Pause(ctx, rivalsApart)
		}
		return nil
	}})
}
