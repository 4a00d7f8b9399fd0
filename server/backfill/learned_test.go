package backfill

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/runtimes"
)

// succeeded is a pod that ran for a time.
func succeeded(name string, ran time.Duration) *corev1.Pod {
	p, start := pod(name, 0), metav1.NewTime(time.Now())
	p.Status = corev1.PodStatus{
		Phase: corev1.PodSucceeded, StartTime: &start, ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(start.Add(ran))},
		}}},
	}
	return p
}

func TestRoomIsBookedByRuntimesThatAreLearned(t *testing.T) {
	run(t, 30*time.Second, func(w *world) {
		for i := range 20 {
			w.history.Learn(succeeded(fmt.Sprint("small-", i), time.Minute))
		}
		b := &busy{world: w}
		b.fill()
		b.gangOf("g", 80)
		b.pass(45, b.come, forLong("g"))
		if got := b.booker.Booked(); got.Pods != 80 {
			t.Errorf("room is booked for %d pods by ends that are learned, want 80", got.Pods)
		}
		b.pass(45, b.come, forLong("g"))
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
			w.history.Learn(succeeded(fmt.Sprint("first-", i), time.Duration(60+20*i)*time.Second))
		}
		w.nodes(4, 2)
		for i := range 6 {
			w.queue(pod(fmt.Sprint("first-", i), 0))
		}
		w.pass(1, none, func(*corev1.Pod) time.Duration { return 90 * time.Second })
		w.gangOf("g", 4)
		w.pass(15, none, forLong("g"))
		got := w.when(types.NamespacedName{Namespace: "default", Name: "g"}).Gangs[0]
		if got.Outcome != Later || got.Learned != 6 || got.By.Sub(got.At) < 10*time.Second {
			t.Errorf("it is said %+v, want that it is not sure", got)
		}
		if in := time.Duration(got.InSeconds * float64(time.Second)); in < 45*time.Second || in > 150*time.Second {
			t.Errorf("it is to start in %s", in)
		}
		if text := got.String(); !strings.Contains(text, ", in nine of ten cases by "+clockTime(got.By)+", when ") {
			t.Errorf("it is said %q", text)
		}
		w.pass(150, none, forLong("g"))
		if started := w.started("g"); started != 4 {
			t.Errorf("%d members have started, want 4", started)
		}
		if count, within := w.ratios(); count != 1 || within != 1 {
			t.Errorf("%d forecasts are held against starts, %d of them kept, want 1", count, within)
		}
	})
}

func TestAForecastThatIsNotKeptIsCounted(t *testing.T) {
	none := func(int) {}
	run(t, 10*time.Second, func(w *world) {
		w.nodes(4, 2)
		for i := range 6 {
			w.queue(pod(fmt.Sprint("first-", i), time.Minute))
		}
		w.pass(1, none, func(*corev1.Pod) time.Duration { return 100 * time.Second })
		w.gangOf("g", 4)
		w.pass(60, none, forLong("g"))
		if count, _ := w.ratios(); count != 0 {
			t.Errorf("%d forecasts are held against a gang that waits", count)
		}
		w.pass(60, none, forLong("g"))
		if count, within := w.ratios(); count != 1 || within != 0 {
			t.Errorf("%d forecasts are held against starts, %d of them kept, want 1 and 0", count, within)
		}
		w.pass(30, none, forLong("g"))
		if count, _ := w.ratios(); count != 1 {
			t.Errorf("one start is counted %d times", count)
		}
	})
}

// ratios returns how many starts were held against forecasts, and how many came no later than was said.
func (w *world) ratios() (count, within uint64) {
	w.Helper()
	metric := &dto.Metric{}
	if err := w.booker.promises.ratio.Write(metric); err != nil {
		w.Fatal(err)
	}
	for _, bucket := range metric.GetHistogram().GetBucket() {
		if bucket.GetUpperBound() == 1 {
			within = bucket.GetCumulativeCount()
		}
	}
	return metric.GetHistogram().GetSampleCount(), within
}

func TestFormerPodsAreLearnedFromTheAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(succeeded("train-0", time.Minute), succeeded("train-1", time.Minute))
		registry := prometheus.NewRegistry()
		history := runtimes.NewHistory(registry)
		former, err := NewFormer(client, history)
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
		if most, known := ends.Estimates.Most(cluster.NewPod(pod("train-3", 0))); !known || most != time.Hour {
			t.Errorf("%s is expected of the next pod, known: %t, want 1h", most, known)
		}
		cancel()
		<-ended
	})
}
