package main

import (
	"testing"
	"time"
)

func TestATrialIsANominationOfANodeThatWasFree(t *testing.T) {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	l := log{
		nominated: map[string]time.Time{"taken": at(100), "raced": at(100), "kept": at(100)},
		bound:     map[string]time.Time{"taken": at(90), "raced": at(700)},
		pods: []life{
			{created: at(0), bound: at(90)},
			{created: at(10), bound: at(300)},
			{created: at(20), bound: at(700)},
			{created: at(30), refused: at(800)},
			{created: at(150), bound: at(320)},
		},
	}
	all := l.trials()
	if len(all) != 2 || races(all) != 1 {
		t.Fatalf("%d trials, %d of them raced: want 2 and 1", len(all), races(all))
	}
	for i := range all {
		if want := 700 * time.Millisecond; all[i].tried != want {
			t.Errorf("all that had come before were tried after %s, want %s", all[i].tried, want)
		}
	}
	for _, test := range []struct {
		margin time.Duration
		quiet  time.Duration
		lost   int
	}{
		{100 * time.Millisecond, 100 * time.Millisecond, 1},
		{250 * time.Millisecond, 450 * time.Millisecond, 1},
		{400 * time.Millisecond, time.Second, 0},
	} {
		for i := range all {
			if got := all[i].quiet(test.margin); got != test.quiet {
				t.Errorf("quiet for %s: after %s, want %s", test.margin, got, test.quiet)
			}
		}
		if got := lost(all, func(t *trial) time.Duration { return t.quiet(test.margin) }); got != test.lost {
			t.Errorf("margin %s: %d lost, want %d", test.margin, got, test.lost)
		}
	}
	if got := enough(all, 2); got != 0 {
		t.Errorf("one in two is raced after %s, want 0s", got)
	}
	if got := enough(all, 10_000); got != 600*time.Millisecond {
		t.Errorf("none is raced after %s, want 600ms", got)
	}
}
