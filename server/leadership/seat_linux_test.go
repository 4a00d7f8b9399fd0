package leadership

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
)

// serverOf is an address for one test alone: the seats of a test process are free again when it ends.
func serverOf(t *testing.T) string { return "https://" + t.Name() + string(uuid.NewUUID()) }

// former has another process hold the lease and its seat, until it dies.
func (e *election) former(server string) (dies func()) {
	e.Helper()
	name := seatName(e.host(), server, e.config.ResourceNamespace, "lease")
	holds, err := net.Listen("unix", "@muster/"+name)
	if err != nil {
		e.Fatal(err)
	}
	e.Cleanup(func() { holds.Close() })
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.config.ResourceNamespace, Name: "lease"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new(e.host() + "_" + name + "_former"), LeaseTransitions: new(int32(3)),
			LeaseDurationSeconds: new(int32(e.config.LeaseDuration.Seconds())), AcquireTime: &now, RenewTime: &now,
		},
	}
	if err := e.Tracker().Add(lease); err != nil {
		e.Fatal(err)
	}
	return func() { holds.Close() }
}

func TestAProcessTakesOverAtOnceFromTheOneInWhosePlaceItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		e.server = serverOf(t)
		e.former(e.server)()
		began := time.Now()
		next := e.runs(nil)
		term := <-next.led
		if after := time.Since(began); after != inheritAfter {
			t.Errorf("it leads after %s, want %s: what the former one has sent may be under way until then", after, inheritAfter)
		}
		if term.Transitions != 4 {
			t.Errorf("its term is %+v: others have to see that it is another one", term)
		}
		next.stop()
		<-next.ended
	})
}

func TestAProcessWaitsForTheLeaseOfOneThatMayBeAlive(t *testing.T) {
	for name, test := range map[string]struct {
		server string // of the next one; "" for the same
		frozen bool
	}{
		"in its seat":         {frozen: true},
		"of another cluster":  {server: "https://another"},
		"where none is known": {server: "none"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newElection(t)
				e.server = serverOf(t)
				dies := e.former(e.server)
				if !test.frozen {
					dies()
				}
				switch test.server {
				case "":
				case "none":
					e.server = ""
				default:
					e.server = test.server + t.Name()
				}
				began := time.Now()
				next := e.runs(nil)
				<-next.led
				if after := time.Since(began); after < e.config.LeaseDuration.Duration {
					t.Errorf("it leads after %s, before the lease has run out", after)
				}
				next.stop()
				<-next.ended
			})
		})
	}
}

func TestASeatThatIsFreeLaterIsTakenThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		e.server = serverOf(t)
		dies := e.former(e.server)
		began := time.Now()
		next := e.runs(nil)
		<-time.After(e.config.RetryPeriod())
		dies()
		<-next.led
		if after := time.Since(began); after < e.config.RetryPeriod()+inheritAfter || after >= e.config.LeaseDuration.Duration {
			t.Errorf("it leads after %s", after)
		}
		if holder := e.holder(); next.lock.seat.mark() == "" || holder != next.lock.Identity() {
			t.Errorf("the lease is held by %q", holder)
		}
		next.stop()
		<-next.ended
	})
}

// A process without the seat must not be known by it: the free seat would not say that the process is gone.
func TestOnlyOneWhoHadTheSeatFromItsStartIsKnownByIt(t *testing.T) {
	clock := clock.RealClock{}
	server := serverOf(t)
	first := newSeat(clock, server)
	second := newSeat(clock, server)
	if first.mark() == "" || second.mark() != "" {
		t.Errorf("the first one is known as %q, the second one as %q", first.mark(), second.mark())
	}
	if _, gone := second.left("host_" + first.mark() + "x"); gone {
		t.Error("the first one is taken for gone while it has its seat")
	}
	if other := newSeat(clock, server, "other"); other.mark() == "" || other.mark() == first.mark() {
		t.Errorf("seats of two leases are known as %q and %q", first.mark(), other.mark())
	}
}
