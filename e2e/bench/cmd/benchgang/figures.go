package main

import (
	"io"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/bench/figures"
)

// printFigures prints what the cases that were run are about.
func (r results) printFigures(out io.Writer) {
	figure := func(name string, digits int, value float64) {
		figures.Print(out, "gang_"+name, digits, value) // nothing of somebody who was left out
	}
	ours := func(name string, value func(measurement) float64) []float64 {
		return r.of(cell{name, withMuster}, value)
	}
	natives := func(name string, value func(measurement) float64) []float64 {
		return r.of(cell{name, contender.Native}, value)
	}
	without := func(name string) []float64 { return r.of(cell{name, contender.Stock}, seconds) }

	if c := caseMany; r.has(withMuster, c) {
		figure("throughput_vs_native", 2, figures.Median(dividing(natives(c, seconds), ours(c, seconds))))
		figure("overhead_vs_none", 2, figures.Median(dividing(ours(c, seconds), without(c))))
		figure("native_overhead_vs_none", 2, figures.Median(dividing(natives(c, seconds), without(c))))
		figure("effort_vs_native", 2, figures.Median(dividing(ours(c, effort), natives(c, effort))))
	}
	if c := caseThousand; r.has(withMuster, c) {
		figure("1000_vs_native", 2, figures.Median(dividing(natives(c, seconds), ours(c, seconds))))
		figure("1000_overhead_vs_none", 2, figures.Median(dividing(ours(c, seconds), without(c))))
		figure("1000_native_overhead_vs_none", 2, figures.Median(dividing(natives(c, seconds), without(c))))
	}
	for _, c := range []string{caseMany, caseThousand} {
		if before := (cell{c, contender.Before}); r.has(contender.Before, c) {
			figure(c+"_vs_before", 2, figures.Median(dividing(ours(c, seconds), r.of(before, seconds))))
			figure(c+"_effort_vs_before", 2, figures.Median(dividing(ours(c, effort), r.of(before, effort))))
		}
	}
	if near := (cell{caseRacks, contender.Near}); r.has(contender.Near, caseRacks) {
		figures.Print(out, "topology_start_vs_without", 2, figures.Median(dividing(r.of(near, seconds), ours(caseRacks, seconds))))
	}
	r.printWrites(figure, withMuster, "")
	r.printWrites(figure, contender.Native, "native_")
	r.printContended(figure, withMuster, "")
	if c := caseStandoff; r.has(contender.Native, c) {
		figure("native_waiting_cpu_s", 2, figures.Median(natives(c, cpu)))
		figure("native_waiting_failed_attempts", 0, figures.Median(natives(c, failed)))
	}
	if c := caseNeighbours; r.has(withMuster, c) {
		figure("neighbour_p99_ratio", 2, figures.Median(ours(c, delay)))
		figure("native_neighbour_p99_ratio", 2, figures.Median(natives(c, delay)))
	}
	r.printAhead(figure, ahead, "ahead_")
	r.printAhead(figure, aheadAsked, "ahead_extender_")
	if c := caseMany; r.has(served, c) {
		figures.Print(out, "native_serve_vs_native", 2, figures.Median(dividing(natives(c, seconds), r.of(cell{c, served}, seconds))))
		figures.Print(out, "native_serve_partial", 0, r.partial(served))
	}
	if c := caseMixed; r.has(contender.Native, c) {
		figures.Print(out, "native_whole_vs_optimum", 2, figures.Median(natives(c, whole))/mixedGangs)
	}
	if c := caseMixed; r.has(assisted, c) {
		figures.Print(out, "native_assist_whole_vs_native", 2, figures.Median(dividing(r.of(cell{c, assisted}, whole), natives(c, whole))))
		figures.Print(out, "native_assist_whole_vs_optimum", 2, figures.Median(r.of(cell{c, assisted}, whole))/mixedGangs)
		figures.Print(out, "native_assist_partial", 0, r.partial(assisted))
	}
	figure("partial", 0, r.partial(withMuster))
	figure("native_partial", 0, r.partial(contender.Native))
}

// printAhead prints how a contender with places reserved by muster fares against native gang scheduling. A prefix is
// before the names.
func (r results) printAhead(figure func(name string, digits int, value float64), who contender.Contender, prefix string) {
	if !r.has(who, caseMany) && !r.has(who, caseThousand) && !r.has(who, caseStandoff) && !r.has(who, caseTurns) &&
		!r.has(who, caseNeighbours) {
		return
	}
	own := func(name string, digits int, value float64) { figure(prefix+name, digits, value) }
	if c := caseMany; r.has(who, c) {
		own("vs_native", 2, figures.Median(dividing(r.of(cell{c, contender.Native}, seconds), r.of(cell{c, who}, seconds))))
		own("effort_vs_native", 2, figures.Median(dividing(r.of(cell{c, who}, effort), r.of(cell{c, contender.Native}, effort))))
	}
	r.printWrites(figure, who, prefix)
	if c := caseThousand; r.has(who, c) {
		own("1000_vs_native", 2, figures.Median(dividing(r.of(cell{c, contender.Native}, seconds), r.of(cell{c, who}, seconds))))
	}
	r.printContended(own, who, "")
	if c := caseNeighbours; r.has(who, c) {
		own("neighbour_p99_ratio", 2, figures.Median(r.of(cell{c, who}, delay)))
	}
	own("partial", 0, r.partial(who))
}

// printWrites prints how often each member of many gangs was written to.
func (r results) printWrites(figure func(name string, digits int, value float64), who contender.Contender, prefix string) {
	if per := r.of(cell{caseMany, who}, writes); len(per) > 0 && figures.Median(per) > 0 {
		figure(prefix+"writes_per_member", 2, figures.Median(per))
	}
}

// printContended prints how a contender with muster fares where gangs wait for each other.
// What it has of its own is in the middle of the names.
func (r results) printContended(figure func(name string, digits int, value float64), who contender.Contender, own string) {
	theirs := func(name string, value func(measurement) float64) []float64 {
		return r.of(cell{name, contender.Native}, value)
	}
	ours := func(name string, value func(measurement) float64) []float64 { return r.of(cell{name, who}, value) }
	both := r.has(who, caseStandoff, caseTurns)
	if both {
		figure("contended"+own+"_vs_native", 2, figures.Median(dividing(
			adding(theirs(caseStandoff, seconds), theirs(caseTurns, seconds)),
			adding(ours(caseStandoff, seconds), ours(caseTurns, seconds)))))
	}
	if c := caseStandoff; r.has(who, c) {
		figure("standoff"+own+"_vs_native", 2, figures.Median(dividing(theirs(c, seconds), ours(c, seconds))))
		figure("waiting_cpu"+own+"_vs_native", 3, figures.Median(dividing(ours(c, cpu), theirs(c, cpu))))
		figure("waiting_cpu"+own+"_s", 2, figures.Median(ours(c, cpu)))
		figure("waiting_failed_attempts"+own, 0, figures.Median(ours(c, failed)))
		figure("idle_share_standoff"+own, 3, r.room(cell{c, who}).share())
	}
	if c := caseTurns; r.has(who, c) {
		figure("turns"+own+"_vs_native", 2, figures.Median(dividing(theirs(c, seconds), ours(c, seconds))))
		figure("idle_share_turns"+own, 3, r.room(cell{c, who}).share())
	}
	if both {
		figure("idle_share"+own, 3, r.room(cell{caseStandoff, who}).plus(r.room(cell{caseTurns, who})).share())
	}
}

// has says that a contender was measured in all of these cases.
func (r results) has(who contender.Contender, names ...string) bool {
	for _, name := range names {
		if len(r[cell{name, who}]) == 0 {
			return false
		}
	}
	return true
}

// room that gangs took in all rounds of a cell.
func (r results) room(c cell) (sum room) {
	for _, m := range r[c] {
		sum = sum.plus(m.room)
	}
	return sum
}

// partial is how many gangs of a contender were bound in part at the end of cells.
func (r results) partial(who contender.Contender) (sum float64) {
	for c, rounds := range r {
		if c.contender != who {
			continue
		}
		for _, m := range rounds {
			sum += float64(m.partial)
		}
	}
	return sum
}
