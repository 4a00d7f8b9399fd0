package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/bench/contender"
	"muster.dev/muster/e2e/muster"
)

func TestRoomIsIdleForMembersThatAreNotBeingBound(t *testing.T) {
	sum := roomOf(map[string]muster.Gang{
		"default/starts": {MinMember: 4, Placed: 2, Held: 1, Binding: 1},
		"default/runs":   {MinMember: 4, Bound: 4},
		"default/waits":  {MinMember: 4, Pending: 4},
	}, 500*time.Millisecond)
	if diff := cmp.Diff(room{idle: 1.5, taken: 4}, sum, cmp.AllowUnexported(room{})); diff != "" {
		t.Errorf("room (-want +got):\n%s", diff)
	}
	sum = sum.plus(roomOf(map[string]muster.Gang{"default/runs": {Bound: 2}}, time.Second))
	if got := sum.share(); got != 0.25 {
		t.Errorf("a share of %v, want 0.25", got)
	}
	if got := (room{}).share(); got != 0 {
		t.Errorf("a share of %v of nothing", got)
	}
}

func TestFigures(t *testing.T) {
	took := func(seconds ...int) []measurement {
		var rounds []measurement
		for _, s := range seconds {
			rounds = append(rounds, measurement{took: time.Duration(s) * time.Second, effort: time.Duration(s) * time.Minute})
		}
		return rounds
	}
	for name, test := range map[string]struct {
		results results
		want    []string
	}{
		"the machine is three times as slow in the last round": {results{
			{caseMany, contender.Stock}: took(2, 2, 6), {caseMany, contender.Native}: took(4, 4, 12), {caseMany, withMuster}: took(2, 3, 9),
		}, []string{
			"throughput_vs_native=1.33", "overhead_vs_none=1.50", "native_overhead_vs_none=2.00", "effort_vs_native=0.75", "partial=0",
			"native_partial=0",
		}},
		"one gang of a thousand": {results{
			{caseThousand, contender.Stock}: took(2), {caseThousand, contender.Native}: took(6), {caseThousand, withMuster}: took(3),
		}, []string{"1000_vs_native=2.00", "1000_overhead_vs_none=1.50", "1000_native_overhead_vs_none=3.00", "partial=0", "native_partial=0"}},
		"another build": {results{
			{caseMany, contender.Stock}: took(2), {caseMany, contender.Native}: took(4), {caseMany, withMuster}: took(3),
			{caseMany, contender.Before}: took(6),
		}, []string{
			"throughput_vs_native=1.33", "overhead_vs_none=1.50", "native_overhead_vs_none=2.00", "effort_vs_native=0.75",
			"many_vs_before=0.50", "many_effort_vs_before=0.50", "partial=0", "native_partial=0",
		}},
		"contended gangs": {results{
			{caseStandoff, contender.Native}: {{took: 2 * time.Second, waiting: costs{80 * time.Second, 1000}}},
			{caseStandoff, withMuster}:       {{took: time.Second, waiting: costs{2 * time.Second, 200}, room: room{idle: 1, taken: 100}}},
			{caseTurns, contender.Native}:    {{took: 6 * time.Second, partial: 2}},
			{caseTurns, withMuster}:          {{took: 4 * time.Second, room: room{idle: 9, taken: 100}}},
		}, []string{
			"contended_vs_native=1.60", "standoff_vs_native=2.00", "waiting_cpu_vs_native=0.025", "waiting_cpu_s=2.00",
			"waiting_failed_attempts=200", "idle_share_standoff=0.010", "turns_vs_native=1.50", "idle_share_turns=0.090", "idle_share=0.050",
			"native_waiting_cpu_s=80.00", "native_waiting_failed_attempts=1000",
			"partial=0", "native_partial=2",
		}},
		"ahead, and nothing else but native": {results{
			{caseMany, contender.Native}: took(4), {caseMany, ahead}: took(2), {caseMany, aheadAsked}: took(8),
			{caseThousand, contender.Native}: took(6), {caseThousand, ahead}: took(3),
			{caseStandoff, contender.Native}: {{took: 2 * time.Second, waiting: costs{80 * time.Second, 1000}}},
			{caseStandoff, ahead}:            {{took: time.Second, waiting: costs{time.Second, 0}}},
			{caseTurns, contender.Native}:    took(6), {caseTurns, ahead}: took(3),
			{caseNeighbours, ahead}: {{beside: 11 * time.Millisecond, alone: 10 * time.Millisecond}},
		}, []string{
			"native_waiting_cpu_s=80.00", "native_waiting_failed_attempts=1000",
			"ahead_vs_native=2.00", "ahead_effort_vs_native=0.50", "ahead_1000_vs_native=2.00", "ahead_contended_vs_native=2.00",
			"ahead_standoff_vs_native=2.00", "ahead_waiting_cpu_vs_native=0.013", "ahead_waiting_cpu_s=1.00",
			"ahead_waiting_failed_attempts=0", "ahead_idle_share_standoff=0.000", "ahead_turns_vs_native=2.00",
			"ahead_idle_share_turns=0.000", "ahead_idle_share=0.000", "ahead_neighbour_p99_ratio=1.10", "ahead_partial=0",
			"ahead_extender_vs_native=0.50", "ahead_extender_effort_vs_native=2.00", "ahead_extender_partial=0",
			"partial=0", "native_partial=0",
		}},
		"writes": {results{
			{caseMany, contender.Native}: {{took: 4 * time.Second, writes: 1}}, {caseMany, ahead}: {{took: 2 * time.Second, writes: 3}},
		}, []string{
			"native_writes_per_member=1.00", "ahead_vs_native=2.00", "ahead_writes_per_member=3.00",
			"ahead_partial=0", "partial=0", "native_partial=0",
		}},
		"neighbours": {results{
			{caseNeighbours, contender.Native}: {{beside: 30 * time.Millisecond, alone: 10 * time.Millisecond}},
			{caseNeighbours, withMuster}:       {{beside: 11 * time.Millisecond, alone: 10 * time.Millisecond, partial: 1}},
		}, []string{
			"neighbour_p99_ratio=1.10", "native_neighbour_p99_ratio=3.00",
			"partial=1", "native_partial=0",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			test.results.printFigures(&out)
			var got []string
			for line := range strings.Lines(out.String()) {
				got = append(got, strings.TrimPrefix(strings.TrimSpace(line), "figure gang_"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTableHasARowForEachCell(t *testing.T) {
	r := results{}
	want := map[string]int{}
	for _, c := range cases() {
		for _, who := range c.contenders {
			r[cell{c.name, who}] = []measurement{{took: time.Second}}
			want[c.name+" "+title(who)]++
		}
	}
	var out strings.Builder
	r.printTable(&out, cases())
	got := map[string]int{}
	for line := range strings.Lines(out.String()) {
		if columns := strings.Fields(line); len(columns) > 2 && want[columns[0]+" "+columns[1]] > 0 {
			got[columns[0]+" "+columns[1]]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s\n%s", diff, out.String())
	}
}
