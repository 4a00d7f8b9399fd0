package leadership

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

// machine is one whose time of day is set. It is to be used in a bubble of synctest, whose clock is the
// monotonic one.
type machine struct {
	fence *Fence
	ahead time.Duration // the time of day, of the monotonic clock
}

const good = 10 * time.Second

func newMachine() *machine {
	m := &machine{}
	m.fence = newFence(clock.RealClock{}, good, newMetrics(prometheus.NewRegistry()))
	m.fence.wall = func() time.Time { return time.Now().Round(0).Add(m.ahead) }
	return m
}

// pass lets time pass by both clocks.
func (m *machine) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait() // for what happens at that time
}

// inBubble runs a test in fake time.
func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

func (m *machine) closed() bool {
	select {
	case <-m.fence.Done():
		return true
	default:
		return false
	}
}

func TestAFenceIsOpenForAsLongAsARenewalIsGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		if err := m.fence.Check(); !errors.Is(err, ErrNotLeader) {
			t.Errorf("before the first renewal: %v", err)
		}
		began := m.fence.now()
		m.pass(4 * time.Second) // the API server takes its time
		if err := m.fence.renew(began); err != nil {
			t.Fatal(err)
		}
		m.pass(6*time.Second - 1)
		if err := m.fence.Check(); err != nil {
			t.Errorf("until the renewal is good no more: %v", err)
		}
		if got := testutil.ToFloat64(m.fence.metrics.leader); got != 1 {
			t.Errorf("muster_leader is %v, want 1", got)
		}
		m.pass(1)
		if !m.closed() {
			t.Error("nobody looked, and the fence has not closed by itself")
		}
		if err := m.fence.Check(); !errors.Is(err, ErrLost) {
			t.Errorf("afterwards: %v", err)
		}
		if got := testutil.ToFloat64(m.fence.metrics.leader); got != 0 {
			t.Errorf("muster_leader is %v, want 0", got)
		}
	})
}

func TestAFenceThatHasClosedStaysClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		if err := m.fence.renew(m.fence.now()); err != nil {
			t.Fatal(err)
		}
		m.pass(good)
		if err := m.fence.renew(m.fence.now()); !errors.Is(err, ErrLost) {
			t.Errorf("a renewal that comes too late: %v", err)
		}
		if err := m.fence.Check(); !errors.Is(err, ErrLost) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestAMachineThatWasSuspendedDoesNotLead(t *testing.T) {
	for name, look := range map[string]func(*Fence) error{
		"to one who asks":          (*Fence).Check,
		"to the one who renews it": func(f *Fence) error { return f.renew(f.now()) },
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			m := newMachine()
			if err := m.fence.renew(m.fence.now()); err != nil {
				t.Fatal(err)
			}
			m.ahead = time.Minute // the monotonic clock stands still
			if err := look(m.fence); !errors.Is(err, ErrLost) {
				t.Errorf("the error is %v", err)
			}
			if !m.closed() {
				t.Error("the fence has not closed")
			}
		}))
	}
}

func TestAClockThatIsSetBackMakesNoRenewalLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		if err := m.fence.renew(m.fence.now()); err != nil {
			t.Fatal(err)
		}
		m.ahead = -time.Hour
		m.pass(good - 1)
		if err := m.fence.Check(); err != nil {
			t.Errorf("while the renewal is good: %v", err)
		}
		m.pass(1)
		if err := m.fence.Check(); !errors.Is(err, ErrLost) {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestALeaseThatTookTooLongToGetIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMachine()
		began := m.fence.now()
		m.pass(good)
		if err := m.fence.renew(began); err == nil || errors.Is(err, ErrLost) {
			t.Errorf("the error is %v, want one after which it can be tried again", err)
		}
		if err := m.fence.renew(m.fence.now()); err != nil {
			t.Error(err)
		}
		if err := m.fence.Check(); err != nil {
			t.Error(err)
		}
	})
}

func TestAFenceOfOneAloneIsAlwaysOpen(t *testing.T) {
	if err := Always().Check(); err != nil {
		t.Error(err)
	}
}

// untimed is a clock that a test sets, on which nothing happens by itself.
type untimed struct{ *clocktesting.FakeClock }

// AfterFunc implements [clock.WithDelayedExecution].
func (c untimed) AfterFunc(d time.Duration, _ func()) clock.Timer { return c.NewTimer(d) }

// TestAFenceIsOpenExactlyWhileSomeRenewalIsGood holds a fence against all that was ever done to it.
func TestAFenceIsOpenExactlyWhileSomeRenewalIsGood(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		now := untimed{clocktesting.NewFakeClock(time.Unix(0, 0))}
		var steady, wall time.Duration // since the beginning
		fence := newFence(now, good, newMetrics(prometheus.NewRegistry()))
		fence.wall = func() time.Time { return time.Unix(0, 0).Add(wall) }
		var last [2]time.Duration // both clocks, when the last renewal began
		led, lost := false, false
		pass := func(d time.Duration) {
			now.Step(d)
			steady, wall = steady+d, wall+d
		}
		// The fence is looked at now.
		look := func() { lost = lost || led && max(steady-last[0], wall-last[1]) >= good }
		some := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, int64(good)).Draw(t, "time")) })
		t.Repeat(map[string]func(*rapid.T){
			"time passes":           func(t *rapid.T) { pass(some.Draw(t, "d")) },
			"the machine sleeps":    func(t *rapid.T) { wall += some.Draw(t, "d") },
			"the clock is set back": func(t *rapid.T) { wall -= some.Draw(t, "d") },
			"the lease is renewed": func(t *rapid.T) {
				began, from := fence.now(), [2]time.Duration{steady, wall}
				d := some.Draw(t, "d")
				pass(d)
				look()
				err := fence.renew(began)
				if ok := !lost && d < good; (err == nil) != ok {
					t.Fatalf("the renewal's error is %v, want success: %t", err, ok)
				}
				if err == nil {
					led, last = true, from
				}
			},
			"": func(t *rapid.T) {
				look()
				if err := fence.Check(); (err == nil) != (led && !lost) {
					t.Fatalf("the error is %v; led: %t, lost: %t", err, led, lost)
				}
			},
		})
	})
}
