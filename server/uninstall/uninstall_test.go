package uninstall

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"
)

// lease is one that muster has written.
func lease(holder, version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "kube-system", Name: "muster", ResourceVersion: version,
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "muster", Operation: metav1.ManagedFieldsOperationUpdate}},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15))},
	}
}

// What a muster that runs would write again is taken away when none runs any more, by one clock.
func TestAMusterThatRunsIsWaitedFor(t *testing.T) {
	for name, test := range map[string]struct {
		renewed time.Duration // for as long as this
		least   time.Duration // that is waited
		runs    bool
	}{
		"it has died":      {0, 15 * time.Second, false},
		"it ends later":    {40 * time.Second, 50 * time.Second, false},
		"somebody goes on": {3 * time.Minute, patience, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := fake.NewClientset(lease("a", "1"))
				began := time.Now()
				go func() {
					for version := 2; time.Since(began) < test.renewed; version++ {
						time.Sleep(2 * time.Second) //nolint:forbidigo // in a bubble
						if t.Context().Err() != nil {
							return
						}
						renewed := lease("a", strings.Repeat("1", version))
						renewed.Spec.RenewTime = new(metav1.NewMicroTime(time.Now()))
						options := metav1.UpdateOptions{FieldManager: "muster"}
						if _, err := client.CoordinationV1().Leases("kube-system").Update(t.Context(), renewed, options); err != nil {
							t.Error(err)
							return
						}
					}
				}()
				c := Cluster{Client: client, Clock: clock.RealClock{}}
				err := c.end(t.Context(), func(string) {})
				if errors.Is(err, errRuns) != test.runs || err != nil && !test.runs {
					t.Errorf("error %v", err)
				}
				if took := time.Since(began); took < test.least || took > test.least+10*time.Second {
					t.Errorf("it took %s", took)
				}
				time.Sleep(5 * time.Minute) //nolint:forbidigo // in a bubble
			})
		})
	}
	if err := (&Cluster{Client: fake.NewClientset(lease("", "1")), Clock: clock.RealClock{}}).end(t.Context(), func(string) {}); err != nil {
		t.Errorf("a Lease that was given back: %v", err)
	}
}
