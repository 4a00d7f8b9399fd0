package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/leadership"
)

// replica is a running server that is ready while it leads.
type replica struct {
	*process
	way *wayToLease
	web *http.Client
}

// newReplica runs a server that elects with others by a lease, and binds by another client.
func newReplica(t *testing.T, leases, client kubernetes.Interface) *replica {
	t.Helper()
	way := &wayToLease{
		LeaseInterface: leases.CoordinationV1().Leases("kube-system"),
		patience:       config.Default().LeaderElection.RenewDeadline() / 3,
	}
	p, web := newOnPipes(t, surroundings{leases: way, binds: client}, func(cfg *config.Configuration) {
		cfg.LeaderElection.LeaderElect = true
		cfg.Profiles[0].NodeSelection = config.NodeSelectionMuster
	})
	r := &replica{p, way, web}
	p.run()
	return r
}

// wayToLease is a replica's, which may be cut: then a request ends when the client has no patience any more.
type wayToLease struct {
	coordinationv1client.LeaseInterface
	patience time.Duration
	cut      atomic.Bool
}

func (w *wayToLease) pass(ctx context.Context) error {
	if !w.cut.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, w.patience)
	defer cancel()
	<-ctx.Done()
	return ctx.Err()
}

// Leases implements [coordinationv1client.LeasesGetter].
func (w *wayToLease) Leases(string) coordinationv1client.LeaseInterface { return w }

// Get implements [coordinationv1client.LeaseInterface].
func (w *wayToLease) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	return w.LeaseInterface.Get(ctx, name, o)
}

// Update implements [coordinationv1client.LeaseInterface].
func (w *wayToLease) Update(ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	if err := w.pass(ctx); err != nil {
		return nil, err
	}
	return w.LeaseInterface.Update(ctx, lease, o)
}

// answers says whether a replica answers filter, to a body that comes after a while.
func (r *replica) answers(after time.Duration) bool {
	r.t.Helper()
	body, rest := io.Pipe()
	var writing sync.WaitGroup
	defer writing.Wait()
	writing.Go(func() {
		_, _ = rest.Write([]byte(`{"NodeNames": ["a"], `))
		time.Sleep(after) //nolint:forbidigo // in a bubble
		_, _ = rest.Write([]byte(`"Pod": {"metadata": {"name": "p"}, "spec": {"schedulerName": "default-scheduler"}}}`))
		_ = rest.Close()
	})
	response, err := r.web.Post("http://localhost/filter", "application/json", body)
	_ = body.Close()
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func holder(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "muster", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return *lease.Spec.HolderIdentity
}

func TestOneOfTwoReplicasIsReadyUntilItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first := newReplica(t, client, client)
		synctest.Wait()
		second := newReplica(t, client, client)
		<-time.After(time.Minute)
		first.wantReadyz("having come first", http.StatusOK, "ok")
		second.wantReadyz("having come second", http.StatusServiceUnavailable, leadership.ErrNotLeader.Error())

		first.stop()
		if err := <-first.ended; err != nil {
			t.Errorf("the first replica's Run returned %v, want nil", err)
		}
		if got := holder(t, client); got != "" {
			t.Errorf("the lease is held by %q", got)
		}
		// A released lease is taken at the next attempt; nobody waits until it runs out.
		retry := second.config.LeaderElection.RetryPeriod()
		<-time.After(2*retry + retry/2)
		second.wantReadyz("alone", http.StatusOK, "ok")
		before, now := first.Server.process.Election.Term(), second.Server.process.Election.Term()
		if before.Transitions != 0 || now.Transitions < 1 {
			t.Errorf("epochs %+v and then %+v", before, now)
		}
	})
}

// TestTwoReplicasNeverAnswerAtATime cuts the way of the leader to its lease, so that it cannot give it
// back either, and asks both all the time; some bodies take their time.
func TestTwoReplicasNeverAnswerAtATime(t *testing.T) {
	for name, after := range map[string]time.Duration{"at once": 0, "after a slow body": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				first := newReplica(t, client, client)
				synctest.Wait()
				second := newReplica(t, client, client)
				<-time.After(time.Minute)
				first.way.cut.Store(true)
				began := time.Now()
				var answered atomic.Int64 // when the first one did so last, in nanoseconds since the cut
				var took time.Duration    // until the second one's first answer
				var asking sync.WaitGroup
				for took == 0 && time.Since(began) < time.Minute {
					asking.Go(func() {
						if first.answers(after) {
							answered.Store(max(answered.Load(), int64(time.Since(began)))) // time stands still meanwhile
						}
					})
					if second.answers(0) {
						took = time.Since(began)
					}
					<-time.After(100 * time.Millisecond)
				}
				asking.Wait()
				if took == 0 {
					t.Fatal("the second replica never came to lead")
				}
				if last := time.Duration(answered.Load()); last == 0 || last >= took {
					t.Errorf("the first replica answered until %s after its lease was cut, the second one from %s on", last, took)
				}
				if err := <-first.ended; !errors.Is(err, leadership.ErrLost) {
					t.Errorf("the first replica's Run returned %v, want %v", err, leadership.ErrLost)
				}
				first.wantReadyz("afterwards", http.StatusServiceUnavailable, app.ErrStopping.Error())
			})
		})
	}
}

func TestALeaderThatCannotRenewItsLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		p := newReplica(t, client, client)
		<-time.After(time.Minute)
		p.wantReadyz("while the lease is renewed", http.StatusOK, "ok")

		p.way.cut.Store(true)
		began := time.Now()
		if err := <-p.ended; !errors.Is(err, leadership.ErrLost) {
			t.Errorf("Run returned %v, want %v", err, leadership.ErrLost)
		}
		// Others may lead from the end of the lease on.
		if took := time.Since(began); took > p.config.LeaderElection.LeaseDuration.Duration {
			t.Errorf("ended after %s, when others may lead already", took)
		}
		p.wantReadyz("afterwards", http.StatusServiceUnavailable, app.ErrStopping.Error())
	})
}

// TestALeaderGivesTheLeaseBackWhenNothingIsInFlight has a binding be in flight when it is told to stop.
func TestALeaderGivesTheLeaseBackWhenNothingIsInFlight(t *testing.T) {
	for name, finishes := range map[string]bool{"the call is answered in time": true, "the call is cut off": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				leases := fake.NewClientset()
				client, release := held()
				p := newReplica(t, leases, client)
				synctest.Wait()
				leader := holder(t, leases)
				answer := p.bindInBackground(p.web)
				synctest.Wait()
				p.stop()
				<-time.After(20 * time.Second) // longer than a lease lasts by itself
				if err := p.Server.process.Election.Fence().Check(); err != nil || holder(t, leases) != leader {
					t.Errorf("with a call in flight the fence says %v, and the lease is held by %q", err, holder(t, leases))
				}
				if finishes {
					release()
				}
				if got := <-answer; (got.err == nil) != finishes {
					t.Errorf("the call is answered with %+v", got)
				}
				if err := <-p.ended; err != nil {
					t.Error(err)
				}
				if got := holder(t, leases); (got == "") != finishes {
					t.Errorf("the lease is held by %q", got)
				}
				if !finishes {
					release()
				}
			})
		})
	}
}

func TestWithoutAnAPIServerThereIsNoElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := newOnPipes(t, surroundings{}, func(cfg *config.Configuration) { cfg.LeaderElection.LeaderElect = true })
		p.wantReadyz("before Run", http.StatusServiceUnavailable, app.ErrBeginning.Error())
		p.run()
		synctest.Wait()
		p.wantReadyz("answering from a snapshot", http.StatusOK, "ok")
	})
}
