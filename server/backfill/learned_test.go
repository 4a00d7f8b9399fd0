package backfill_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/simulation"
)

// succeeded is a pod that ran for a time.
func succeeded(name string, ran time.Duration) *corev1.Pod {
	return simulation.Succeeded(simulation.Pod(name, 0), ran)
}

func TestRoomIsBookedByRuntimesThatAreLearned(t *testing.T) {
	run(t, 30*time.Second, func(w *world) {
		for i := range 20 {
			w.History.Learn(succeeded(fmt.Sprint("small-", i), time.Minute), false)
		}
		b := &busy{world: w}
		b.fill()
		b.gangOf("g", 80)
		b.Pass(45, b.come, forLong("g"))
		if got := b.Booker.Booked(); got.Pods != 80 {
			t.Errorf("room is booked for %d pods by ends that are learned, want 80", got.Pods)
		}
		b.Pass(45, b.come, forLong("g"))
		if started := b.started("g"); started != 80 {
			t.Errorf("%d of 80 members are bound after 90 s", started)
		}
	})
}

// By ends that are learned, a forecast is two times: half of the starts come before the first one, and nine of ten before the second.
func TestAForecastByLearnedRuntimesSaysHowSureItIs(t *testing.T) {
	none := func(int) {}
	run(t, 10*time.Second, func(w *world) {
		for i := range 10 {
			w.History.Learn(succeeded(fmt.Sprint("first-", i), time.Duration(60+20*i)*time.Second), false)
		}
		w.Nodes(4, 2)
		for i := range 6 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), 0))
		}
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return 90 * time.Second })
		w.gangOf("g", 4)
		w.Pass(15, none, forLong("g"))
		got := w.when(types.NamespacedName{Namespace: "default", Name: "g"}).Gangs[0]
		if got.Outcome != backfill.Later || got.Learned != 6 || got.By.Sub(got.At) < 10*time.Second {
			t.Errorf("it is said %+v, want that it is not sure", got)
		}
		if by := time.Until(got.By).Seconds(); by < 1.5*got.InSeconds+10 { // half as long again as the last of nine draws, and a start
			t.Errorf("nine in ten start in %.0f s, and five in %.0f s: the last draw does not count", by, got.InSeconds)
		}
		if in := time.Duration(got.InSeconds * float64(time.Second)); in < 45*time.Second || in > 150*time.Second {
			t.Errorf("it is to start in %s", in)
		}
		if text := got.String(); !strings.Contains(text, ", in nine of ten cases by "+got.By.UTC().Format(time.RFC3339)+", when ") {
			t.Errorf("it is said %q", text)
		}
		w.Pass(150, none, forLong("g"))
		if started := w.started("g"); started != 4 {
			t.Errorf("%d members have started, want 4", started)
		}
		if count, within := w.Forecasts(); count != 1 || within != 1 {
			t.Errorf("%d forecasts are held against starts, %d of them kept, want 1", count, within)
		}
	})
}

func TestAForecastThatIsNotKeptIsCounted(t *testing.T) {
	none := func(int) {}
	run(t, 10*time.Second, func(w *world) {
		w.Nodes(4, 2)
		for i := range 6 {
			w.Queue(simulation.Pod(fmt.Sprint("first-", i), time.Minute))
		}
		w.Pass(1, none, func(*corev1.Pod) time.Duration { return 100 * time.Second })
		w.gangOf("g", 4)
		w.Pass(60, none, forLong("g"))
		if count, _ := w.Forecasts(); count != 0 {
			t.Errorf("%d forecasts are held against a gang that waits", count)
		}
		w.Pass(60, none, forLong("g"))
		if count, within := w.Forecasts(); count != 1 || within != 0 {
			t.Errorf("%d forecasts are held against starts, %d of them kept, want 1 and 0", count, within)
		}
		w.Pass(30, none, forLong("g"))
		if count, _ := w.Forecasts(); count != 1 {
			t.Errorf("one start is counted %d times", count)
		}
	})
}

// idle returns for how long room for pods stood empty, in seconds.
func (w *world) idle() (seconds float64) { return w.Idle().Seconds() }

func TestFormerPodsAreLearnedFromTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(succeeded("train-0", 2*time.Hour), succeeded("train-1", 2*time.Hour))
		registry := prometheus.NewRegistry()
		history := runtimes.NewHistory(registry)
		former, err := backfill.NewFormer(client, history)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { former.Run(ctx); close(ended) }()
		synctest.Wait()
		for _, change := range []string{"created", "deleted", "created"} {
			last := succeeded("train-2", time.Hour)
			if change == "deleted" {
				err = client.CoreV1().Pods("default").Delete(t.Context(), last.Name, metav1.DeleteOptions{})
			} else {
				_, err = client.CoreV1().Pods("default").Create(t.Context(), last, metav1.CreateOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Minute})
		ends := runtimes.See(c.Snapshot(), runtimes.NewClock(clock.RealClock{}), history)
		if runtime, known := ends.Estimates.Of(cluster.NewPod(simulation.Pod("train-3", 0))); !known || runtime != time.Hour {
			t.Errorf("%s is expected of the next pod, known: %t, want 1h", runtime, known)
		}
		cancel()
		<-ended
	})
}
