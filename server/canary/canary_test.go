package canary

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"
)

// lock is a lock that synctest lets time pass for while a goroutine waits for it.
type lock chan struct{}

func (l lock) lock()   { l <- struct{}{} }
func (l lock) unlock() { <-l }

func (l lock) pass() {
	l.lock()
	l.unlock()
}

// aviary is a canary of two locks that runs.
type aviary struct {
	*Canary
	gangs, cluster lock
	log            strings.Builder
	sent           atomic.Int32 // into the lock of gangs
}

const patience = 15 * time.Second

func newAviary(t *testing.T) *aviary {
	a := &aviary{gangs: make(lock, 1), cluster: make(lock, 1)}
	a.Canary = New(Options{
		Logger: slog.New(slog.NewTextHandler(&a.log, nil)), Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Patience: patience,
		Locks: func() []Lock {
			return []Lock{
				{"gangs", "filter and bind", func() { a.sent.Add(1); a.gangs.pass() }},
				{"the cluster", "all verbs", a.cluster.pass},
			}
		},
	})
	go a.Run(t.Context())
	return a
}

func (a *aviary) want(t *testing.T, when, stuck string) {
	t.Helper()
	synctest.Wait()
	got := ""
	if err := a.Stuck(); err != nil {
		got = err.Error()
	}
	if got != stuck {
		t.Errorf("%s it says %q, want %q", when, got, stuck)
	}
}

func TestALockThatIsNotGivenBackIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAviary(t)
		<-time.After(time.Hour)
		a.want(t, "while all is well", "")
		a.gangs.lock()
		<-time.After(patience)
		a.want(t, "as long as others may have it", "")
		<-time.After(2 * every)
		a.want(t, "later", "the lock of gangs, which filter and bind take, has not been free for 16s")
		if got := testutil.ToFloat64(a.waiting.WithLabelValues("gangs")); got != 16 {
			t.Errorf("muster_lock_wait_seconds is %v", got)
		}
		a.cluster.lock()
		<-time.After(patience + 2*every)
		a.want(
			t,
			"with another one",
			"the lock of gangs, which filter and bind take, has not been free for 33s; the lock of the cluster, which all verbs take, has not "+
				"been free for 16s",
		)
		a.gangs.unlock()
		a.cluster.unlock()
		<-time.After(2 * every)
		a.want(t, "when they are free", "")
		if got := testutil.ToFloat64(a.waiting.WithLabelValues("gangs")); got != 0 {
			t.Errorf("muster_lock_wait_seconds is %v", got)
		}
		if got := strings.Count(a.log.String(), "a lock is stuck"); got != 2 || strings.Count(a.log.String(), "free again") != 2 {
			t.Errorf("the log says:\n%s", a.log.String())
		}
	})
}

func TestAStuckLockHasOneCanaryInIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAviary(t)
		synctest.Wait() // the first one has come through
		before := a.sent.Load()
		a.gangs.lock()
		<-time.After(time.Hour)
		if sent := a.sent.Load() - before; sent != 1 {
			t.Errorf("%d were sent into it", sent)
		}
		a.gangs.unlock()
		<-time.After(time.Minute)
	})
}

// TestTimeForWhichTheProcessStoodStillDoesNotCount has a look be late, as after SIGSTOP, with a canary
// under way.
func TestTimeForWhichTheProcessStoodStillDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := make(lock, 1)
		c := New(Options{
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Patience: patience,
			Locks: func() []Lock { return []Lock{{"gangs", "bind", l.pass}} },
		})
		l.lock()
		c.look()
		<-time.After(time.Hour)
		c.look()
		if err := c.Stuck(); err != nil {
			t.Error(err)
		}
		l.unlock()
	})
}

func TestALockThatIsThereNoMoreIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		locks := []Lock{{"profile", "filter", func() {}}}
		c := New(Options{
			Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Patience: patience,
			Locks: func() []Lock { return locks },
		})
		c.look()
		synctest.Wait()
		locks = nil
		c.look()
		if got := testutil.CollectAndCount(c.waiting); got != 0 {
			t.Errorf("%d locks are told of", got)
		}
	})
}
