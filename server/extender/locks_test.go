package extender

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/canary"
	"muster.dev/muster/server/console"
	"muster.dev/muster/server/servertest"
)

// jammed is a bench whose locks are watched over by a clock that the test sets.
type jammed struct {
	*bench
	clock *clocktesting.FakeClock
}

func newJammed(t *testing.T) *jammed {
	b := newBench(t, benchOptions{client: fake.NewClientset()})
	b.Node("a", "4")
	j := &jammed{b, clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	locks := canary.New(canary.Options{
		Logger: slog.New(
			slog.DiscardHandler,
		),
		Registerer: prometheus.NewRegistry(),
		Clock:      j.clock,
		Locks:      b.extender.Locks,
		Patience:   15 * time.Second,
	})
	health := console.NewHealth(console.HealthOptions{Stuck: locks.Stuck, Ready: func() error { return nil }, Metrics: b.metrics})
	web := httptest.NewServer(inspect.Router(health.Endpoints()...))
	t.Cleanup(web.Close)
	b.URL = web.URL
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		locks.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return j
}

// livez lets time pass until /livez answers with a status.
func (j *jammed) livez(want int) (answer string) {
	j.Helper()
	err := wait.PollUntilContextTimeout(j.Context(), time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		j.clock.Step(time.Second)
		response, err := http.Get(j.URL + "/livez")
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		answer = string(body)
		return response.StatusCode == want, err
	})
	if err != nil {
		j.Fatalf("/livez says %q: %v", answer, err)
	}
	return answer
}

func TestLivezNamesTheLockThatIsStuck(t *testing.T) {
	for name, jam := range map[string]func(*jammed) (free func()){
		"verdicts of default-scheduler": func(j *jammed) func() {
			store := j.profiles.Of("default-scheduler")
			replica := servertest.Pod("p", "1")
			replica.OwnerReferences = []metav1.OwnerReference{{UID: "rs", Controller: new(true)}}
			view := store.View(cluster.NewPod(replica))
			return view.Close
		},
		"the cluster": func(j *jammed) func() {
			freed, began := make(chan struct{}), make(chan struct{})
			stop := j.Cluster.FollowPending(func(cluster.PodEvent) {
				close(began)
				<-freed
			})
			go func() { _ = j.Cluster.Set(servertest.Pod("p", "1")) }()
			<-began
			return func() {
				close(freed)
				stop()
			}
		},
		"bind calls": func(j *jammed) func() {
			flights := j.extender.binds.flights
			flights.mu.Lock()
			return flights.mu.Unlock
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJammed(t)
			if got := j.livez(http.StatusOK); got != "ok\n" {
				t.Errorf("/livez says %q", got)
			}
			free := jam(j)
			if got := j.livez(http.StatusServiceUnavailable); !strings.HasPrefix(got, "the lock of "+name+", which ") ||
				!strings.Contains(got, " has not been free for ") {
				t.Errorf("/livez says %q", got)
			}
			free()
			j.livez(http.StatusOK)
		})
	}
}
