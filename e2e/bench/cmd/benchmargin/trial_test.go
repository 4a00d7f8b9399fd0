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
	for after, want := range map[time.Duration]int{500 * time.Millisecond: 1, 700 * time.Millisecond: 0} {
		if got := lost(all, func(*trial) time.Duration { return after }); got != want {
			t.Errorf("%d are lost after %s, want %d", got, after, want)
		}
	}
	if got := enough(all, 2); got != 0 {
		t.Errorf("one in two is raced after %s, want 0s", got)
	}
	if got := enough(all, 10_000); got != 600*time.Millisecond {
		t.Errorf("none is raced after %s, want 600ms", got)
	}
}
