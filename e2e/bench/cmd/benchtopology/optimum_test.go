package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/bench/solver"
)

// What the solver finds has to be what a search of everything finds, and the judge of both must not be fooled.
func TestTheSolverAndASearchAgree(t *testing.T) {
	cbc := solver.Path()
	if cbc == "" {
		t.Skip("there is no cbc")
	}
	placeable := 0
	for name, draw := range map[string]func(uint64, size) *instance{"alike": alike, "mixed": mixed} {
		for seed := range uint64(60) {
			in := draw(seed, small())
			searched, whole := exhaustive(in)
			solved, known, err := optimum(t.Context(), cbc, in, time.Minute)
			if err != nil || !known || !whole {
				t.Fatalf("%s, seed %d: solved %v, searched %v: %v", name, seed, known, whole, err)
			}
			if diff := cmp.Diff(searched, solved, cmp.AllowUnexported(worth{})); diff != "" {
				t.Errorf("%s, seed %d: (-searched +solved)\n%s", name, seed, diff)
			}
			if searched != nil {
				placeable++
			}
		}
	}
	if placeable < 60 {
		t.Errorf("only %d instances can be placed", placeable)
	}
}

func TestTheJudge(t *testing.T) {
	in := &instance{
		nodes: []node{
			{path: []int{0}, free: amounts{2}, there: []int{0}},
			{path: []int{0}, free: amounts{2}, there: []int{0}},
			{path: []int{1}, free: amounts{4}, there: []int{0}},
		},
		kinds: []kind{{count: 4, asks: amounts{1}}}, levels: 1, balanced: 1,
	}
	for name, test := range map[string]struct {
		placed []int
		change func(in *instance)
		want   string // "" for the worth
		worth  worth
	}{
		"one rack":  {placed: []int{2, 2, 0}, worth: worth{[]int{1}, 16}},
		"two racks": {placed: []int{2, 0, 2}, worth: worth{[]int{2}, 8}},
		"too many":  {placed: []int{3, 1, 0}, want: "node 0 has 3 pods of kind 0"},
		"too few":   {placed: []int{2, 1, 0}, want: "3 pods of kind 0 are placed, of 4"},
		"not in one": {
			placed: []int{2, 0, 2}, change: func(in *instance) { in.required = 1 },
			want: "pods are in 2 domains of level 1, which shall be one",
		},
		"without a rack": {
			placed: []int{0, 0, 4}, change: func(in *instance) { in.required, in.nodes[2].path = 1, []int{-1} },
			want: "4 pods are in a domain of level 1 that is closed to them",
		},
		"beside another": {placed: []int{2, 2, 0}, change: func(in *instance) { in.nodes[0].there = []int{1} }, worth: worth{[]int{0}, 25}},
	} {
		t.Run(name, func(t *testing.T) {
			changed := *in
			changed.nodes = append([]node(nil), in.nodes...)
			if test.change != nil {
				test.change(&changed)
			}
			got, err := changed.judge(places{test.placed})
			switch {
			case test.want != "" && (err == nil || err.Error() != test.want):
				t.Errorf("judged as %v, %v", got, err)
			case test.want == "" && (err != nil || !cmp.Equal(*got, test.worth, cmp.AllowUnexported(worth{}))):
				t.Errorf("worth %v, %v", got, err)
			}
		})
	}
}
