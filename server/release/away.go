package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"
)

// ErrTooShort says that somebody who leads may have been silent for as long.
var ErrTooShort = errors.New("must be longer than the lease is good for")

// looks is how often the lease is looked at in the time.
const looks = 20

// Lease names the Lease by which muster's replicas elect their leader.
type Lease struct {
	Leases coordinationv1client.LeaseInterface
	Name   string
	Clock  clock.Clock
}

// Away watches the lease for a time and reports whether nobody wrote to it. Who leads renews it; who begins to, or
// gives it back, writes to it as well. What times the lease itself states is not looked at: they are of other clocks.
// A lease that there is not, and that nobody makes meanwhile, is one that nobody has.
func (l Lease) Away(ctx context.Context, patience time.Duration) (bool, error) {
	began := l.Clock.Now()
	first, err := l.get(ctx)
	if err != nil {
		return false, err
	}
	if seconds := first.LeaseDurationSeconds; seconds != nil && patience <= time.Duration(*seconds)*time.Second {
		return false, fmt.Errorf("%s: %w, %ds", patience, ErrTooShort, *seconds)
	}
	for l.Clock.Since(began) < patience {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-l.Clock.After(min(patience/looks, patience-l.Clock.Since(began))):
		}
		now, err := l.get(ctx)
		if err != nil || !equality.Semantic.DeepEqual(first, now) {
			return false, err
		}
	}
	return true, nil
}

// get returns what the lease says, which is nothing if there is none.
func (l Lease) get(ctx context.Context) (*coordinationv1.LeaseSpec, error) {
	lease, err := l.Leases.Get(ctx, l.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return &coordinationv1.LeaseSpec{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lease: %w", err)
	}
	return &lease.Spec, nil
}
