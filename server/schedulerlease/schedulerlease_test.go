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
	wait("the same holder, anew")
	write(lease("kube-scheduler", "b", 2, 4))
	wait("one that has taken it again")
	quiet("a renewal, a Lease of another name, or one without holder")
}
