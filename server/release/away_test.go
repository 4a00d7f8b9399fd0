package release

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
)

// lease is one that is good for 15 seconds, as its holder wrote it, whose clock is years behind.
func lease(holder string, renewed int) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "muster"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new(holder), LeaseDurationSeconds: new(int32(15)),
			RenewTime: new(metav1.NewMicroTime(time.Date(1999, 1, 1, 0, 0, renewed, 0, time.UTC))),
		},
	}
}

func TestWhetherMusterIsAwayIsToldByWhetherAnybodyWritesToItsLease(t *testing.T) {
	for name, test := range map[string]struct {
		first *coordinationv1.Lease
		after time.Duration
		then  *coordinationv1.Lease
		away  bool
	}{
		"nobody writes to it":                 {lease("a", 1), 0, nil, true},
		"it was given back, and is not taken": {lease("", 1), 0, nil, true},
		"there is none":                       {nil, 0, nil, true},
		"it is renewed":                       {lease("a", 1), time.Second, lease("a", 2), false},
		"it is renewed at the last moment":    {lease("a", 1), 59 * time.Second, lease("a", 2), false},
		"it is renewed later":                 {lease("a", 1), 61 * time.Second, lease("a", 2), true},
		"another one takes it":                {lease("a", 1), 30 * time.Second, lease("b", 2), false},
		"it is made":                          {nil, 30 * time.Second, lease("b", 2), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset()
				if test.first != nil {
					client = fake.NewClientset(test.first)
				}
				leases, began := client.CoordinationV1().Leases("kube-system"), time.Now()
				if test.then != nil {
					go func() {
						time.Sleep(test.after) //nolint:forbidigo // in a bubble
						_ = client.Tracker().Delete(coordinationv1.SchemeGroupVersion.WithResource("leases"), "kube-system", "muster")
						if err := client.Tracker().Add(test.then); err != nil {
							t.Error(err)
						}
					}()
				}
				absence, err := Lease{leases, "muster", clock.RealClock{}}.Away(t.Context(), time.Minute)
				if (absence != nil) != test.away || (err == nil) != test.away || err != nil && !errors.Is(err, ErrBack) {
					t.Errorf("absence %v, error %v", absence, err)
				}
				if took := time.Since(began); test.away && took != time.Minute {
					t.Errorf("it took %s", took)
				}
				time.Sleep(2 * time.Minute) //nolint:forbidigo // in a bubble
			})
		})
	}
}

func TestASilenceThatTheLeaseAllowsTellsNothing(t *testing.T) {
	client := fake.NewClientset(lease("a", 1))
	_, err := Lease{client.CoordinationV1().Leases("kube-system"), "muster", clock.RealClock{}}.Away(t.Context(), 15*time.Second)
	if !errors.Is(err, ErrTooShort) || err.Error() != "15s: must be longer than the lease is good for, 15s" {
		t.Errorf("error %v", err)
	}
}
