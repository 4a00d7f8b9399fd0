package jobs

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// example is a workload of jobs for nodes of one unit each, written as "come+runtime*pods", in seconds.
func example(t *testing.T, nodes int, jobs ...string) *Workload {
	t.Helper()
	w := &Workload{Nodes: nodes, Size: unit}
	for i, text := range jobs {
		var at, runs, pods int
		if _, err := fmt.Sscanf(text, "%d+%d*%d", &at, &runs, &pods); err != nil {
			t.Fatal(err)
		}
		long := time.Duration(runs) * time.Second
		w.Jobs = append(w.Jobs, &Job{ID: i, At: time.Duration(at) * time.Second, Pods: pods, Size: unit, Says: long, runs: long})
	}
	return w
}

// The cases by which the papers tell the rules apart: a job that waits for room, and others that come after it.
func TestTheRulesStartJobsAsInTheirPapers(t *testing.T) {
	for name, test := range map[string]struct {
		nodes                            int
		jobs                             []string
		fcfs, greedy, easy, conservative []int // when jobs start, in seconds
	}{
		"a short job goes before the one that waits": {
			4,
			[]string{"0+100*3", "1+100*4", "2+50*1"},
			[]int{0, 100, 200},
			[]int{0, 100, 2},
			[]int{0, 100, 2},
			[]int{0, 100, 2},
		},
		"a long job delays it where nothing is promised": {
			4,
			[]string{"0+100*3", "1+100*4", "2+200*1"},
			[]int{0, 100, 200},
			[]int{0, 202, 2},
			[]int{0, 100, 200},
			[]int{0, 100, 200},
		},
		"a long job beside it takes no place of it": {
			4,
			[]string{"0+100*2", "1+100*3", "2+500*1"},
			[]int{0, 100, 100},
			[]int{0, 100, 2},
			[]int{0, 100, 2},
			[]int{0, 100, 2},
		},
		// The last job delays the third one, which EASY promises nothing.
		"only the first one that waits is promised anything": {
			4,
			[]string{"0+100*2", "1+100*3", "2+100*4", "3+300*1"},
			[]int{0, 100, 200, 300},
			[]int{0, 100, 303, 3},
			[]int{0, 100, 303, 3},
			[]int{0, 100, 200, 300},
		},
		"small jobs starve a large one where nothing is promised": {
			2,
			[]string{"0+100*1", "0+50*1", "1+10*2", "49+100*1", "99+100*1", "148+100*1"},
			[]int{0, 0, 100, 110, 110, 210},
			[]int{0, 0, 250, 50, 100, 150},
			[]int{0, 0, 100, 110, 110, 210},
			[]int{0, 0, 100, 110, 110, 210},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := example(t, test.nodes, test.jobs...)
			for rule, want := range map[Rule][]int{FCFS{}: test.fcfs, Greedy{}: test.greedy, EASY{}: test.easy, Conservative{}: test.conservative} {
				got := make([]int, len(w.Jobs))
				for _, s := range Replay(w, rule) {
					got[s.Job.ID] = int(s.At.Seconds())
				}
				if !slices.Equal(got, want) {
					t.Errorf("by %T jobs start at %v, want %v", rule, got, want)
				}
			}
		})
	}
}

// A wrong estimate moves the promise and ends no job.
func TestARuleKnowsOfARuntimeWhatIsSaid(t *testing.T) {
	w := example(t, 4, "0+100*3", "1+100*4", "2+50*1")
	w.Jobs[0].Says, w.Jobs[2].Says = 20*time.Second, 10*time.Second // so the third one ends before 20 s, as it seems
	starts := Replay(w, EASY{})
	if at := starts[len(starts)-1].At; starts[1].Job.ID != 2 || at != 100*time.Second {
		t.Errorf("the second job starts at %s, and job %d before it", at, starts[1].Job.ID)
	}
}

func TestAReplayIsSummedUp(t *testing.T) {
	w := example(t, 2, "0+100*1", "0+50*1", "1+10*2")
	w.Over = 200 * time.Second
	got := Sum(w, Replay(w, FCFS{}))
	if got.LargeWait != 99*time.Second {
		t.Errorf("the largest tenth waited for %s, want 99s", got.LargeWait)
	}
	if want := (60.0 + 10 + 2*10) / 320; got.Utilisation < want-1e-9 || got.Utilisation > want+1e-9 { // from second 40 on
		t.Errorf("%.4f was in use, want %.4f", got.Utilisation, want)
	}
	if want := (1.0 + 1 + 10.9) / 3; got.Slowdown < want-1e-9 || got.Slowdown > want+1e-9 {
		t.Errorf("the slowdown is %.4f, want %.4f", got.Slowdown, want)
	}
}

// Without room in time, muster's own parts start jobs as soon as they have room, as Greedy does.
func TestMusterWithoutRoomInTimeIsGreedy(t *testing.T) {
	w := example(t, 4, "0+100*3", "1+100*4", "2+200*1", "3+20*2")
	w.Name, w.Nodes = "example", 4
	want := Replay(w, Greedy{})
	got, _ := Muster(t, w, 0)
	if len(got) != len(want) {
		t.Fatalf("%d jobs start, want %d", len(got), len(want))
	}
	for i := range want {
		if late := got[i].At - want[i].At; got[i].Job.ID != want[i].Job.ID || late < 0 || late > 3*time.Second {
			t.Errorf("job %d starts at %s, want job %d at %s", got[i].Job.ID, got[i].At, want[i].Job.ID, want[i].At)
		}
	}
}

// With it, a long job does not go before one that waits.
func TestMusterWithRoomInTimeKeepsItsPromise(t *testing.T) {
	w := example(t, 8, "0+100*7", "1+100*4", "12+200*1")
	got, _ := Muster(t, w, 5*time.Second)
	order := []int{}
	for _, s := range got {
		order = append(order, s.Job.ID)
	}
	if !slices.Equal(order, []int{0, 2, 1}) || got[2].At > 104*time.Second {
		t.Errorf("jobs start in the order %v, the last one at %s", order, got[len(got)-1].At)
	}
}
