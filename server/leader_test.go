package server

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/api/config/v1alpha2"
)

// newReplica is a running server that is ready while it leads.
func newReplica(t *testing.T, client kubernetes.Interface) *process {
	t.Helper()
	p := newProcess(t, func(config *v1alpha2.MusterConfiguration) { config.LeaderElection.LeaderElect = true })
	p.bindsWith(client)
	p.listensOnPipes()
	p.run()
	return p
}

func TestOneOfTwoReplicasIsReadyUntilItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		first := newReplica(t, client)
		synctest.Wait()
		second := newReplica(t, client)
		<-time.After(time.Minute)
		first.wantReadyz("having come first", http.StatusOK, "ok")
		second.wantReadyz("having come second", http.StatusServiceUnavailable, errNotLeader.Error())

		first.stop()
		if err := <-first.ended; err != nil {
			t.Errorf("the first replica's Run returned %v, want nil", err)
		}
		lease, err := client.CoordinationV1().Leases("kube-system").Get(t.Context(), "muster", metav1.GetOptions{})
		if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != "" {
			t.Errorf("the lease was not released: %+v (error %v)", lease, err)
		}
		// A released lease is taken at the next attempt; nobody waits until it runs out.
		retry := second.config.LeaderElection.RetryPeriod.Duration
		<-time.After(2*retry + retry/2)
		second.wantReadyz("alone", http.StatusOK, "ok")
		if first.epoch.Transitions != 0 || second.epoch.Transitions < 1 {
			t.Errorf("epochs %+v and then %+v", first.epoch, second.epoch)
		}
	})
}

func TestALeaderThatCannotRenewItsLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var away atomic.Bool
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			if away.Load() {
				return true, nil, errors.New("the API server is away")
			}
			return false, nil, nil
		})
		p := newReplica(t, client)
		<-time.After(time.Minute)
		p.wantReadyz("while the lease is renewed", http.StatusOK, "ok")

		away.Store(true)
		began := time.Now()
		if err := <-p.ended; !errors.Is(err, errLeadershipLost) {
			t.Errorf("Run returned %v, want %v", err, errLeadershipLost)
		}
		// Others may lead from the end of the lease on.
		if took := time.Since(began); took > p.config.LeaderElection.LeaseDuration.Duration {
			t.Errorf("ended after %s, when others may lead already", took)
		}
		p.wantReadyz("afterwards", http.StatusServiceUnavailable, errStopping.Error())
	})
}

func TestWithoutAnAPIServerThereIsNoElection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(t, func(config *v1alpha2.MusterConfiguration) { config.LeaderElection.LeaderElect = true })
		p.listensOnPipes()
		p.wantReadyz("before Run", http.StatusServiceUnavailable, errNotLeader.Error())
		p.run()
		synctest.Wait()
		p.wantReadyz("answering from a snapshot", http.StatusOK, "ok")
	})
}
