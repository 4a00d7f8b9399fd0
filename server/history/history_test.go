package history_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/server/history"
)

// watched is a muster whose history is kept, by a clock that goes on when everybody waits for it.
type watched struct {
	*testing.T
	cluster                 *cluster.Cluster
	gangs, answered, failed atomic.Int64
	keeper                  *history.Keeper
}

func watch(t *testing.T, test func(*watched)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &watched{T: t, cluster: cluster.New(cluster.Options{
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Minute,
		})}
		w.keeper = history.New(history.Options{
			Clock: clock.RealClock{}, Cluster: w.cluster, GangsWaiting: func() int { return int(w.gangs.Load()) },
			Calls: func() (answered, failed int) { return int(w.answered.Load()), int(w.failed.Load()) },
		})
		w.tells(0, 1000, 100) // before it runs
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.keeper.Run(ctx)
		}()
		synctest.Wait()
		test(w)
		cancel()
		<-done
	})
}

// tells has a number of gangs wait from now on, and calls be counted.
func (w *watched) tells(gangs, answered, failed int64) {
	w.gangs.Store(gangs)
	w.answered.Store(answered)
	w.failed.Store(failed)
}

// passes lets time pass, and the samples be taken that are due.
func (w *watched) passes(minutes int) {
	time.Sleep(time.Duration(minutes) * time.Minute) //nolint:forbidigo // in a bubble
	synctest.Wait()
}

func (w *watched) set(name, node string) {
	w.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	pod.Spec.NodeName = node
	if err := w.cluster.Set(pod); err != nil {
		w.Fatal(err)
	}
}

func (w *watched) latest() history.Minute {
	w.Helper()
	minutes := w.keeper.Minutes()
	if len(minutes) == 0 {
		w.Fatal("nothing is remembered")
	}
	return minutes[len(minutes)-1]
}

func TestAMinuteTellsWhatWaitsAndWhatHappenedInIt(t *testing.T) {
	watch(t, func(w *watched) {
		if got := w.keeper.Minutes(); len(got) != 0 {
			t.Fatalf("before the first minute is over, %d are remembered", len(got))
		}
		w.set("a", "")
		w.set("b", "")
		w.set("elsewhere", "node") // it never waited here
		w.tells(1, 1007, 102)
		w.passes(1)
		for _, step := range []struct {
			what string
			do   func()
			want history.Minute
		}{
			{"as it began", func() {}, history.Minute{PodsWaiting: 2, GangsWaiting: 1, Calls: 7, FailedCalls: 2}},
			{"one is bound", func() { w.set("a", "node"); w.tells(0, 1010, 102) }, history.Minute{PodsWaiting: 1, PodsBound: 1, Calls: 3}},
			{"told again", func() { w.set("a", "node") }, history.Minute{PodsWaiting: 1}},
			{"one goes", func() {
				gone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "b", UID: "b"}}
				if err := w.cluster.Delete(gone); err != nil {
					t.Fatal(err)
				}
			}, history.Minute{}},
		} {
			if step.do(); step.what != "as it began" {
				w.passes(1)
			}
			if step.want.End = w.latest().End; w.latest() != step.want {
				t.Errorf("%s: %+v, want %+v", step.what, w.latest(), step.want)
			}
		}
	})
}

func TestAnHourIsRememberedAndNoMore(t *testing.T) {
	watch(t, func(w *watched) {
		var early []history.Minute
		for minute := 1; minute <= 150; minute++ {
			w.set(fmt.Sprint(minute), "")
			w.passes(1)
			minutes := w.keeper.Minutes()
			if want := min(minute, 60); len(minutes) != want {
				t.Fatalf("after %d minutes %d are remembered, want %d", minute, len(minutes), want)
			}
			for i, m := range minutes {
				if want := minute - len(minutes) + 1 + i; m.PodsWaiting != want {
					t.Fatalf("after %d minutes, sample %d has %d pods, want %d", minute, i, m.PodsWaiting, want)
				}
			}
			if minute == 60 {
				early = minutes
			}
		}
		if early[0].PodsWaiting != 1 || early[59].PodsWaiting != 60 {
			t.Error("what was told is changed afterwards")
		}
	})
}
