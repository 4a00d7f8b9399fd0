package main

import (
	"fmt"
	"io"

	"muster.dev/muster/e2e/contender"
)

// printFigures prints what the cases that were run are about.
func (r results) printFigures(out io.Writer) {
	figure := func(name string, digits int, value float64) {
		fmt.Fprintf(out, "figure gang_%s=%.*f\n", name, digits, value)
	}
	ours := func(name string, value func(measurement) float64) []float64 {
		return r.of(cell{name, withMuster}, value)
	}
	natives := func(name string, value func(measurement) float64) []float64 {
		return r.of(cell{name, contender.Native}, value)
	}
	without := func(name string) []float64 { return r.of(cell{name, contender.Stock}, seconds) }
	ran := func(names ...string) bool {
		for _, name := range names {
			if len(r[cell{name, withMuster}]) == 0 {
				return false
			}
		}
		return true
	}

	if c := caseMany; ran(c) {
		figure("throughput_vs_native", 2, median(dividing(natives(c, seconds), ours(c, seconds))))
		figure("overhead_vs_none", 2, median(dividing(ours(c, seconds), without(c))))
		figure("native_overhead_vs_none", 2, median(dividing(natives(c, seconds), without(c))))
	}
	if c := caseThousand; ran(c) {
		figure("1000_vs_native", 2, median(dividing(natives(c, seconds), ours(c, seconds))))
		figure("1000_overhead_vs_none", 2, median(dividing(ours(c, seconds), without(c))))
		figure("1000_native_overhead_vs_none", 2, median(dividing(natives(c, seconds), without(c))))
	}
	if ran(caseStandoff, caseTurns) {
		figure("contended_vs_native", 2, median(dividing(
			adding(natives(caseStandoff, seconds), natives(caseTurns, seconds)),
			adding(ours(caseStandoff, seconds), ours(caseTurns, seconds)))))
	}
	if c := caseStandoff; ran(c) {
		figure("standoff_vs_native", 2, median(dividing(natives(c, seconds), ours(c, seconds))))
		figure("waiting_cpu_vs_native", 3, median(dividing(ours(c, cpu), natives(c, cpu))))
		figure("waiting_cpu_s", 2, median(ours(c, cpu)))
		figure("native_waiting_cpu_s", 2, median(natives(c, cpu)))
		figure("waiting_failed_attempts", 0, median(ours(c, failed)))
		figure("native_waiting_failed_attempts", 0, median(natives(c, failed)))
		figure("idle_share_standoff", 3, r.room(c).share())
	}
	if c := caseTurns; ran(c) {
		figure("turns_vs_native", 2, median(dividing(natives(c, seconds), ours(c, seconds))))
		figure("idle_share_turns", 3, r.room(c).share())
	}
	if ran(caseStandoff, caseTurns) {
		figure("idle_share", 3, r.room(caseStandoff).plus(r.room(caseTurns)).share())
	}
	if c := caseNeighbours; ran(c) {
		figure("neighbour_p99_ratio", 2, median(ours(c, delay)))
		figure("native_neighbour_p99_ratio", 2, median(natives(c, delay)))
	}
	figure("partial", 0, r.partial(withMuster))
	figure("native_partial", 0, r.partial(contender.Native))
}

// room that muster's gangs took in all rounds of a case.
func (r results) room(name string) (sum room) {
	for _, m := range r[cell{name, withMuster}] {
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
