package main

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/bench/contender"
)

func TestPlanFromEnv(t *testing.T) {
	everything := []string{caseMany, caseThousand, caseStandoff, caseTurns, caseNeighbours, caseRacks, caseMixed}
	for name, test := range map[string]struct {
		env    map[string]string
		cases  []string
		rounds int
		wait   time.Duration
		err    string

		contenders []contender.Contender // of the first case, if that matters
	}{
		"nothing is set": {cases: everything, rounds: 3, wait: 90 * time.Second},
		"everything is set, cases keep their order": {
			env:   map[string]string{casesEnv: "turns,many", roundsEnv: "1", waitEnv: "5s"},
			cases: []string{caseMany, caseTurns}, rounds: 1, wait: 5 * time.Second,
		},
		"a case that is not":  {env: map[string]string{casesEnv: "many,few"}, err: `BENCH_CASES=many,few: there is no case "few"`},
		"no round":            {env: map[string]string{roundsEnv: "0"}, err: "BENCH_ROUNDS=0"},
		"a wait of nothing":   {env: map[string]string{waitEnv: "0s"}, err: "BENCH_WAIT=0s"},
		"a build that is not": {env: map[string]string{contender.BeforeEnv: "/none"}, err: "BENCH_BEFORE=/none: want the path of a build"},
		"a contender that is not": {
			env: map[string]string{contendersEnv: "native,nobody"}, err: `BENCH_CONTENDERS=native,nobody: there is no contender "nobody"`,
		},
		"contenders": {
			env: map[string]string{contendersEnv: "ahead,native", casesEnv: "many"}, cases: []string{caseMany}, rounds: 3, wait: 90 * time.Second,
			contenders: []contender.Contender{contender.Native, ahead},
		},
		"a wait in words": {env: map[string]string{waitEnv: "long"}, err: "BENCH_WAIT=long"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := planFromEnv(func(key string) string { return test.env[key] })
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v, want it to contain %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range got.cases {
				names = append(names, c.name)
			}
			if diff := cmp.Diff(test.contenders, got.cases[0].contenders); test.contenders != nil && diff != "" {
				t.Errorf("contenders (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.cases, names); diff != "" || got.rounds != test.rounds || got.wait != test.wait {
				t.Errorf("%d rounds, a wait of %s, cases (-want +got):\n%s", got.rounds, got.wait, diff)
			}
		})
	}
}

func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]bool{}
	for _, c := range cases() {
		names[c.name] = true
	}
	if len(names) != len(cases()) {
		t.Errorf("the names are %v", slices.Sorted(maps.Keys(names)))
	}
}

func TestEachFollowsEachOtherEquallyOften(t *testing.T) {
	all := []contender.Contender{contender.Stock, contender.Native, withMuster, ahead, aheadAsked}
	for count := 2; count <= len(all); count++ {
		first, follows := map[contender.Contender]int{}, map[[2]contender.Contender]int{}
		for round := range 2 * count {
			order := benchCase{contenders: all[:count]}.order(round)
			first[order[0]]++
			for i, who := range order[1:] {
				follows[[2]contender.Contender{order[i], who}]++
			}
		}
		for who, times := range first {
			if times != 2 {
				t.Errorf("of %d %s is first %d times", count, who, times)
			}
		}
		for pair, times := range follows {
			if len(follows) != count*(count-1) || times != 2 {
				t.Errorf("of %d %s follows %s %d times", count, pair[1], pair[0], times)
			}
		}
	}
}
