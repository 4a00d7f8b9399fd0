package leadership

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
)

// election has an API server with a lease. Candidates run for the lease by the default configuration, in
// fake time.
type election struct {
	*testing.T
	*fake.Clientset
	config config.LeaderElection
	server string // its address, for those who take a seat
}

func newElection(t *testing.T) *election {
	return &election{T: t, Clientset: fake.NewClientset(), config: config.Default().LeaderElection}
}

func (e *election) lease() *coordinationv1.Lease {
	e.Helper()
	lease, err := e.CoordinationV1().Leases(e.config.ResourceNamespace).Get(e.Context(), "lease", metav1.GetOptions{})
	if err != nil {
		e.Fatal(err)
	}
	return lease
}

// host is the name that candidates go by.
func (e *election) host() string {
	e.Helper()
	host, err := os.Hostname()
	if err != nil {
		e.Fatal(err)
	}
	return host
}

func (e *election) holder() string { return *e.lease().Spec.HolderIdentity }

// way is a replica's to the API server.
type way struct {
	coordinationv1client.LeaseInterface
	trouble atomic.Pointer[trouble] // nil for none
}

// trouble happens to a request before the API server gets it, and so late to its answer.
type trouble func(ctx context.Context, verb string) (late time.Duration, err error)

func (w *way) meets(t trouble) { w.trouble.Store(&t) }

func (w *way) do(ctx context.Context, verb string, do func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	t := w.trouble.Load()
	if t == nil {
		return do()
	}
	late, err := (*t)(ctx, verb)
	if err != nil {
		return nil, err
	}
	lease, err := do()
	<-time.After(late)
	return lease, err
}

// Leases implements [coordinationv1client.LeasesGetter].
func (w *way) Leases(string) coordinationv1client.LeaseInterface { return w }

// Get implements [coordinationv1client.LeaseInterface].
func (w *way) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	return w.do(ctx, "get", func() (*coordinationv1.Lease, error) { return w.LeaseInterface.Get(ctx, name, o) })
}

// Create implements [coordinationv1client.LeaseInterface].
func (w *way) Create(ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return w.do(ctx, "create", func() (*coordinationv1.Lease, error) { return w.LeaseInterface.Create(ctx, lease, o) })
}

// Update implements [coordinationv1client.LeaseInterface].
func (w *way) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	return w.do(ctx, "update", func() (*coordinationv1.Lease, error) { return w.LeaseInterface.Update(ctx, lease, o) })
}

// cut has requests fail after as long as a client waits, from now on.
func (r *replica) cut() {
	r.way.meets(func(ctx context.Context, _ string) (time.Duration, error) {
		ctx, cancel := context.WithTimeout(ctx, config.Default().LeaderElection.RenewDeadline()/attempts)
		defer cancel()
		<-ctx.Done()
		return 0, ctx.Err()
	})
}

// replica is a candidate that runs.
type replica struct {
	*Candidate
	way   *way
	led   chan Term // told once it leads
	ended chan error
	stop  context.CancelFunc
}

// runs has a candidate run whose work lasts until it is told to end, and then for as long as linger.
func (e *election) runs(linger func()) *replica {
	e.Helper()
	w := &way{LeaseInterface: e.CoordinationV1().Leases(e.config.ResourceNamespace)}
	c, err := New(Options{
		Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Leases: w, Config: e.config, Name: "lease", Server: e.server,
	})
	if err != nil {
		e.Fatal(err)
	}
	r := &replica{Candidate: c, way: w, led: make(chan Term, 1), ended: make(chan error, 1)}
	ctx, stop := context.WithCancel(e.Context())
	r.stop = stop
	go func() {
		r.ended <- c.Run(ctx, func(ctx context.Context, term Term) (bool, error) {
			r.led <- term
			<-ctx.Done()
			if linger != nil {
				linger()
			}
			return true, nil
		})
	}()
	return r
}

func TestTheLeaseIsGivenBackOnceTheWorkHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		finish := make(chan struct{})
		first := e.runs(func() { <-finish })
		if term := <-first.led; term.Transitions != 0 {
			t.Errorf("the first term is %+v", term)
		}
		second := e.runs(nil)
		first.stop()
		<-time.After(time.Minute)
		if err := first.Fence().Check(); err != nil || e.holder() != first.lock.Identity() {
			t.Errorf("while the work goes on, the fence says %v and the lease is held by %q", err, e.holder())
		}
		if err := second.Fence().Check(); !errors.Is(err, ErrNotLeader) {
			t.Errorf("the second one has a fence that says %v", err)
		}
		close(finish)
		if err := <-first.ended; err != nil {
			t.Error(err)
		}
		if err := first.Fence().Check(); !errors.Is(err, ErrResigned) {
			t.Errorf("after the end the fence says %v", err)
		}
		began := time.Now()
		if term := <-second.led; term.Transitions < 1 {
			t.Errorf("the second term is %+v", term)
		}
		if took, most := time.Since(began), e.config.RetryPeriod()*22/10; took > most {
			t.Errorf("the second one leads after %s, want at most %s", took, most)
		}
		second.stop()
		if err := <-second.ended; err != nil {
			t.Error(err)
		}
	})
}

func TestAFenceIsClosedBeforeTheLeaseIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		r := e.runs(nil)
		<-r.led
		blocked := make(chan struct{})
		r.way.meets(func(context.Context, string) (time.Duration, error) {
			<-blocked
			return 0, nil
		})
		r.stop()
		synctest.Wait()
		if err := r.Fence().Check(); !errors.Is(err, ErrResigned) {
			t.Errorf("while the API server does not take the lease back, the fence says %v", err)
		}
		close(blocked)
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if holder := e.holder(); holder != "" {
			t.Errorf("the lease is held by %q", holder)
		}
	})
}

func TestTheLeaseOfOneWhoseWorkHasNotEndedRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		c, err := New(
			Options{Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Leases: e.CoordinationV1(), Config: e.config, Name: "lease"},
		)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Run(t.Context(), func(context.Context, Term) (bool, error) { return false, nil }); err != nil {
			t.Error(err)
		}
		if err := c.Fence().Check(); !errors.Is(err, errUnclean) {
			t.Errorf("the fence says %v", err)
		}
		if holder := e.holder(); holder != c.lock.Identity() {
			t.Errorf("the lease is held by %q", holder)
		}
	})
}

func TestWhoNeverLedStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		first := e.runs(nil)
		<-first.led
		second := e.runs(nil)
		<-time.After(time.Minute)
		second.stop()
		if err := <-second.ended; err != nil {
			t.Error(err)
		}
		if holder := e.holder(); holder != first.lock.Identity() {
			t.Errorf("the lease is held by %q", holder)
		}
		first.stop()
		<-first.ended
	})
}

func TestALeaderThatCannotRenewStopsBeforeAnotherOneLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		first := e.runs(nil)
		<-first.led
		<-time.After(time.Minute + time.Second)
		renewed := e.lease().Spec.RenewTime.Time
		first.cut()
		err := <-first.ended
		if !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), "was last renewed 10s ago, and that is good for 10s") {
			t.Errorf("the error is %v", err)
		}
		if err := first.Fence().Check(); !errors.Is(err, ErrLost) {
			t.Errorf("the fence says %v", err)
		}
		if took, want := time.Since(renewed).Round(time.Millisecond), e.config.RenewDeadline(); took != want {
			t.Errorf("it ended %s after the last renewal, want %s", took, want)
		}
	})
}

// TestARenewalCountsFromItsBeginning has the API server take a renewal in at once and answer late.
func TestARenewalCountsFromItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		r := e.runs(nil)
		<-r.led
		var last time.Time
		slow := true
		r.way.meets(func(_ context.Context, verb string) (time.Duration, error) {
			if !slow || verb != "update" {
				return 0, errors.New("away")
			}
			last, slow = time.Now(), false
			return 3 * time.Second, nil
		})
		<-r.Fence().Done()
		if got := time.Since(last); got != e.config.RenewDeadline() {
			t.Errorf("the fence closed %s after the last renewal began, want %s", got, e.config.RenewDeadline())
		}
		if err := <-r.ended; !errors.Is(err, ErrLost) {
			t.Error(err)
		}
	})
}

// seize gives the lease to somebody else, when nobody is about to renew it.
func (e *election) seize(by string) {
	e.Helper()
	<-time.After(e.config.RetryPeriod() / 2)
	lease := e.lease()
	lease.Spec.HolderIdentity = &by
	if _, err := e.CoordinationV1().Leases(e.config.ResourceNamespace).Update(e.Context(), lease, metav1.UpdateOptions{}); err != nil {
		e.Fatal(err)
	}
}

func TestALeaderThatSeesAnotherOneStopsAtOnceAndLeavesTheLeaseAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		r := e.runs(nil)
		<-r.led
		e.seize("another")
		r.way.meets(func(_ context.Context, verb string) (time.Duration, error) {
			if verb == "update" { // the fake API server does not mind
				return 0, apierrors.NewConflict(coordinationv1.Resource("leases"), "lease", errors.New("it changed"))
			}
			return 0, nil
		})
		began := time.Now()
		if err := <-r.ended; !errors.Is(err, ErrLost) || !strings.Contains(err.Error(), `held by "another"`) {
			t.Errorf("the error is %v", err)
		}
		if took, most := time.Since(began), 2*e.config.RetryPeriod(); took > most {
			t.Errorf("that took %s, want at most %s", took, most)
		}
		if holder := e.holder(); holder != "another" {
			t.Errorf("the lease is held by %q", holder)
		}
	})
}

// TestALostLeaseIsNotGivenBack opens the way to the lease again when the elector ends: client-go has the
// elector give the lease back then, even when another process holds it.
func TestALostLeaseIsNotGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		r := e.runs(nil)
		<-r.led
		r.cut()
		<-r.Fence().Done()
		r.way.trouble.Store(nil)
		e.seize("another")
		if err := <-r.ended; !errors.Is(err, ErrLost) {
			t.Errorf("the error is %v", err)
		}
		if holder := e.holder(); holder != "another" {
			t.Errorf("the lease is held by %q", holder)
		}
	})
}

// TestALeaseIsGivenBackByItsHolderAlone has somebody take the lease in the moment in which it is given back.
func TestALeaseIsGivenBackByItsHolderAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		r := e.runs(nil)
		<-r.led
		e.seize("another")
		r.stop()
		<-r.ended
		if holder := e.holder(); holder != "another" {
			t.Errorf("the lease is held by %q", holder)
		}
	})
}

func TestALeaseThatWasDeletedIsTakenWhenItsHolderHasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newElection(t)
		first := e.runs(nil)
		<-first.led
		second := e.runs(nil)
		<-time.After(time.Minute)
		first.cut()
		if err := e.Tracker().Delete(coordinationv1.SchemeGroupVersion.WithResource("leases"), e.config.ResourceNamespace, "lease"); err != nil {
			t.Fatal(err)
		}
		<-second.led
		if err := first.Fence().Check(); !errors.Is(err, ErrLost) {
			t.Errorf("the second one leads, and the fence of the first one says %v", err)
		}
		<-first.ended
		second.stop()
		<-second.ended
	})
}
