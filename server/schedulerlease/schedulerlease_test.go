package schedulerlease

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubewait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
)

func lease(name, holder string, transitions int32, acquired int64) *coordinationv1.Lease {
	at := metav1.NewMicroTime(time.UnixMicro(acquired))
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseTransitions: &transitions, AcquireTime: &at},
	}
}

func TestEachNewLeaderIsTold(t *testing.T) {
	client := fake.NewSimpleClientset(lease("kube-scheduler", "a", 0, 1), lease("another", "x", 0, 1))
	changes := make(chan struct{}, 10)
	done := make(chan struct{})
	go func() {
		defer close(done)
		Follow(t.Context(), client, "kube-system/kube-scheduler", func() { changes <- struct{}{} })
	}()
	leases := client.CoordinationV1().Leases("kube-system")
	wait := func(what string) {
		t.Helper()
		select {
		case <-changes:
		case <-time.After(time.Minute):
			t.Fatalf("%s is not told", what)
		}
	}
	quiet := func(what string) {
		t.Helper()
		if n := len(changes); n > 0 {
			t.Fatalf("%s is told of, %d times", what, n)
		}
	}
	write := func(l *coordinationv1.Lease) {
		t.Helper()
		if _, err := leases.Update(t.Context(), l, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lists := func(context.Context) (bool, error) { return len(client.Actions()) >= 2, nil } // and watches
	if err := kubewait.PollUntilContextTimeout(t.Context(), time.Millisecond, time.Minute, true, lists); err != nil {
		t.Fatal(err)
	}
	write(lease("kube-scheduler", "b", 1, 2))
	wait("another holder")
	write(lease("another", "y", 5, 2))
	write(lease("kube-scheduler", "b", 1, 2))
	write(lease("kube-scheduler", "", 1, 2))
	write(lease("kube-scheduler", "b", 2, 3))
	wait("the same holder, again")
	write(lease("kube-scheduler", "b", 2, 4))
	wait("one that has taken it again")
	quiet("a renewal, a Lease of another name, or one without holder")
}

func TestItIsToldWhetherTheSchedulerOfAHostLeads(t *testing.T) {
	client := fake.NewSimpleClientset(lease("another", "here_1", 0, 1))
	leads, seen := make(chan bool, 10), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		FollowOn(t.Context(), client, "kube-system/kube-scheduler", "here", func(now bool) { leads <- now }, func() { close(seen) })
	}()
	select {
	case <-seen:
	case <-time.After(time.Minute):
		t.Fatal("it is not told that there is none")
	}
	if len(leads) > 0 {
		t.Errorf("%v is told of a Lease that there is not", <-leads)
	}
	leases := client.CoordinationV1().Leases("kube-system")
	if _, err := leases.Create(t.Context(), lease("kube-scheduler", "there_1", 0, 1), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect := func(holder string, want bool) {
		t.Helper()
		select {
		case got := <-leads:
			if got != want {
				t.Errorf("of holder %q it is told %v", holder, got)
			}
		case <-time.After(time.Minute):
			t.Fatalf("holder %q is not told", holder)
		}
	}
	expect("there_1", false)
	for i, test := range []struct {
		holder string
		want   bool
	}{{"here_1", true}, {"here_2", true}, {"", false}, {"here.example.com_1", false}, {"here_3", true}, {"nothere_1", false}} {
		if _, err := leases.Update(t.Context(), lease("kube-scheduler", test.holder, int32(i), int64(i)), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		expect(test.holder, test.want)
	}
}
