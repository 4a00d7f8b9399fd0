package loop

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

func candidate(client kubernetes.Interface, identity string) leaderelection.LeaderElectionConfig {
	return leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta: metav1.ObjectMeta{Name: "lease", Namespace: "default"}, Client: client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
		},
		LeaseDuration: time.Hour, RenewDeadline: time.Minute, RetryPeriod: time.Second, Name: "lease",
	}
}

func TestTheLeaseIsGivenBackOnceTheWorkHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		holder := func() string {
			lease, err := client.CoordinationV1().Leases("default").Get(t.Context(), "lease", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			return *lease.Spec.HolderIdentity
		}
		ctx, stop := context.WithCancel(t.Context())
		begun, finish, working := make(chan struct{}), make(chan struct{}), false
		first := make(chan error, 1)
		go func() {
			first <- elect(ctx, candidate(client, "first"), func(leading context.Context) {
				working = true
				close(begun)
				<-leading.Done()
				<-finish
				working = false
			})
		}()
		<-begun
		stop()
		synctest.Wait()
		if !working || holder() != "first" {
			t.Fatalf("working: %t; the lease is held by %q while the work goes on", working, holder())
		}
		close(finish)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if working || holder() != "" {
			t.Errorf("working: %t; the lease is held by %q after the end", working, holder())
		}

		ctx, stop = context.WithCancel(t.Context())
		second := make(chan error, 1)
		began := make(chan struct{})
		go func() {
			second <- elect(ctx, candidate(client, "second"), func(leading context.Context) { close(began); <-leading.Done() })
		}()
		asked := time.Now()
		<-began
		if waited := time.Since(asked); waited >= time.Hour { // of fake time: the lease has expired
			t.Errorf("the second one had to wait for %s", waited)
		}
		stop()
		if err := <-second; err != nil {
			t.Error(err)
		}
	})
}

func TestWhoNeverLedStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		leading, stopLeading := context.WithCancel(t.Context())
		first, begun := make(chan error, 1), make(chan struct{})
		go func() {
			first <- elect(leading, candidate(client, "first"), func(leading context.Context) { close(begun); <-leading.Done() })
		}()
		<-begun
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		err := elect(ctx, candidate(client, "second"), func(context.Context) { t.Error("two lead") })
		if err != nil {
			t.Error(err)
		}
		stopLeading()
		if err := <-first; err != nil {
			t.Error(err)
		}
	})
}

func TestToLoseTheLeaseIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var down atomic.Bool
		client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
			return down.Load(), nil, errors.New("the API server is down")
		})
		err := elect(t.Context(), candidate(client, "first"), func(leading context.Context) {
			down.Store(true)
			<-leading.Done()
		})
		if !errors.Is(err, errLeadershipLost) {
			t.Errorf("the error is %v", err)
		}
	})
}
