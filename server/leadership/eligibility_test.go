package leadership

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// beside is a replica beside a kube-scheduler, which leads or not.
type beside struct {
	*replica
	scheduler *Eligibility
}

// runsBeside has a candidate run that is asked to stop once it may not lead any more, as a process is.
func (e *election) runsBeside() *beside {
	e.Helper()
	scheduler := NewEligibility()
	w := &way{LeaseInterface: e.CoordinationV1().Leases(e.config.ResourceNamespace)}
	c, err := New(Options{
		Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Leases: w, Config: e.config, Name: "lease", Eligibility: scheduler,
	})
	if err != nil {
		e.Fatal(err)
	}
	b := &beside{&replica{Candidate: c, way: w, led: make(chan Term, 1), ended: make(chan error, 1)}, scheduler}
	ctx, stop := context.WithCancel(e.Context())
	b.stop = stop
	go func() {
		select {
		case <-c.Ineligible():
			stop()
		case <-ctx.Done():
		}
	}()
	go func() {
		b.ended <- c.Run(ctx, func(ctx context.Context, term Term) (bool, error) {
			b.led <- term
			<-ctx.Done()
			return true, nil
		})
	}()
	return b
}

// ledByTheFirst runs two candidates: the first leads and the second stands by.
func (e *election) ledByTheFirst() (first, second *beside) {
	e.Helper()
	first, second = e.runsBeside(), e.runsBeside()
	first.scheduler.Set(true)
	first.leads(e, time.Millisecond)
	return first, second
}

// leads fails the test unless the replica leads within a time.
func (b *beside) leads(e *election, within time.Duration) {
	e.Helper()
	select {
	case <-b.led:
	case <-time.After(within):
		e.Fatalf("it does not lead after %s", within)
	}
}

// ends stops a replica, which must end well.
func (b *beside) ends(e *election) {
	e.Helper()
	b.stop()
	if err := <-b.ended; err != nil {
		e.Error(err)
	}
}

func TestTheReplicaBesideTheSchedulerThatLeadsLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		first, second := e.runsBeside(), e.runsBeside()
		<-time.After(10 * time.Minute)
		for _, b := range []*beside{first, second} {
			if err := b.Fence().Check(); !errors.Is(err, ErrNotLeader) {
				t.Errorf("while no scheduler leads, the fence says %v", err)
			}
		}
		second.scheduler.Set(true)
		second.leads(e, time.Millisecond)
		<-time.After(10 * time.Minute)
		if err := second.Fence().Check(); err != nil {
			t.Errorf("after ten minutes the fence says %v", err)
		}
		second.ends(e)
		first.ends(e)
	})
}

func TestAReplicaGivesTheLeaseBackWhenAnotherSchedulerLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		first, second := e.ledByTheFirst()
		<-time.After(time.Minute)

		first.scheduler.Set(false)
		if err := <-first.ended; err != nil {
			t.Error(err)
		}
		if err := first.Fence().Check(); !errors.Is(err, ErrResigned) {
			t.Errorf("the fence of the first says %v", err)
		}
		second.scheduler.Set(true)
		second.leads(e, time.Millisecond)
		second.ends(e)
	})
}

func TestAReplicaTakesTheLeaseAsSoonAsItIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		first, second := e.ledByTheFirst()
		<-time.After(time.Minute)
		second.scheduler.Set(true)
		<-time.After(e.config.RetryPeriod() * 3 / 2)
		first.scheduler.Set(false)
		<-first.ended
		second.leads(e, freePoll+time.Millisecond)
		second.ends(e)
	})
}

func TestHowOftenTheLeaseIsReadThatIsNotGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		_, second := e.ledByTheFirst()
		var reads atomic.Int32
		second.way.meets(func(context.Context, string) (time.Duration, error) { reads.Add(1); return 0, nil })
		second.scheduler.Set(true)
		<-time.After(e.config.LeaseDuration.Duration)
		if reads, most := int(reads.Swap(0)), int(e.config.LeaseDuration.Duration/freePoll)+1; reads > most {
			t.Errorf("in %s it is read %d times, want at most %d", e.config.LeaseDuration.Duration, reads, most)
		}
		<-time.After(time.Minute)
		if reads, most := int(reads.Load()), int(time.Minute/e.config.RetryPeriod()); reads > most {
			t.Errorf("in the minute after it is read %d times, want at most %d", reads, most)
		}
	})
}

// Both leases run out at a time when a machine is lost. Who stood by has counted the silence, and does not begin to count
// when its scheduler leads.
func TestWhoStoodByDoesNotWaitAnewForALeaseThatHasRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		first, second := e.ledByTheFirst()
		<-time.After(time.Minute)
		first.cut()
		<-time.After(e.config.LeaseDuration.Duration + 2*e.config.RetryPeriod())
		second.scheduler.Set(true)
		second.leads(e, time.Millisecond)
		second.ends(e)
		if err := <-first.ended; !errors.Is(err, ErrLost) {
			t.Errorf("the first ends with %v", err)
		}
	})
}

func TestALeaseThatIsRenewedIsNotTakenThoughTheSchedulerLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		first, second := e.ledByTheFirst()
		second.scheduler.Set(true) // as it is when the one beside the first is slow to hear that it has lost
		<-time.After(10 * time.Minute)
		if err := first.Fence().Check(); err != nil {
			t.Errorf("the fence of the first says %v", err)
		}
		if err := second.Fence().Check(); !errors.Is(err, ErrNotLeader) {
			t.Errorf("the fence of the second says %v", err)
		}
		first.stop()
		second.leads(e, 3*e.config.RetryPeriod())
		second.stop()
		for _, b := range []*beside{first, second} {
			if err := <-b.ended; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestAReplicaThatStandsByDoesNotTakeALeaseThatIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		first, second := e.ledByTheFirst()
		second.scheduler.Set(true)
		<-time.After(time.Minute)
		second.scheduler.Set(false)
		first.ends(e)
		<-time.After(time.Hour)
		if len(second.led) > 0 || e.holder() != "" {
			t.Errorf("it has led %d times, and the lease is held by %q", len(second.led), e.holder())
		}
		second.ends(e)
	})
}

func TestALeaseIsTakenNoSoonerThanItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		const lasts = 60 * time.Second
		now := metav1.NewMicroTime(time.Now())
		_, err := e.CoordinationV1().Leases(e.config.ResourceNamespace).Create(t.Context(), &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.config.ResourceNamespace, Name: "lease"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new("another"), LeaseDurationSeconds: new(int32(lasts.Seconds())), AcquireTime: &now, RenewTime: &now,
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b := e.runsBeside()
		<-time.After(lasts - time.Second)
		b.scheduler.Set(true)
		<-time.After(500 * time.Millisecond)
		if len(b.led) > 0 {
			t.Errorf("it leads before %s have passed", lasts)
		}
		b.leads(e, 3*e.config.RetryPeriod())
		b.ends(e)
	})
}

func TestWhyAReplicaWaitsIsSaid(t *testing.T) {
	e := newElection(t)
	options := Options{
		Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Leases: e.CoordinationV1(), Config: e.config, Name: "lease",
	}
	alone, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := alone.Waits(); !errors.Is(err, ErrNotLeader) {
		t.Errorf("of one that may always lead: %v", err)
	}
	options.Registerer, options.Eligibility = prometheus.NewRegistry(), NewEligibility()
	c, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Waits(); !errors.Is(err, ErrUnknown) {
		t.Errorf("before it knows: %v", err)
	}
	options.Eligibility.Know()
	if err := c.Waits(); !errors.Is(err, ErrStandingBy) {
		t.Errorf("while no scheduler leads: %v", err)
	}
	options.Eligibility.Set(true)
	if err := c.Waits(); !errors.Is(err, ErrTakingOver) {
		t.Errorf("while its scheduler leads: %v", err)
	}
}
