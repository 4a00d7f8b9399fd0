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

var (
	// ErrTooShort says that somebody who leads may have been silent for as long.
	ErrTooShort = errors.New("must be longer than the lease is good for")
	// ErrBack says that somebody leads.
	ErrBack = errors.New("muster leads")
)

// looks is how often the lease is looked at in the time.
const looks = 20

// Lease names the Lease by which muster's replicas elect their leader.
type Lease struct {
	Leases coordinationv1client.LeaseInterface
	Name   string
	Clock  clock.Clock
}

// Absence is that nobody leads: a lease to which nobody wrote for a time, as it was then.
type Absence struct {
	lease Lease
	left  *coordinationv1.LeaseSpec
}

// Lasts returns ErrBack if somebody has written to the lease since.
func (a *Absence) Lasts(ctx context.Context) error {
	now, err := a.lease.get(ctx)
	if err == nil && !equality.Semantic.DeepEqual(a.left, now) {
		return ErrBack
	}
	return err
}

// Away watches the lease for a time and returns [ErrBack] if somebody wrote to it. Who leads renews it; who begins to,
// or gives it back, writes to it as well. What times the lease itself states is not looked at: they are of other clocks.
// A lease that there is not, and that nobody makes meanwhile, is one that nobody has.
func (l Lease) Away(ctx context.Context, patience time.Duration) (*Absence, error) {
	began := l.Clock.Now()
	first, err := l.get(ctx)
	if err != nil {
		return nil, err
	}
	absence := &Absence{l, first}
	if seconds := first.LeaseDurationSeconds; seconds != nil && patience <= time.Duration(*seconds)*time.Second {
		return nil, fmt.Errorf("%s: %w, %ds", patience, ErrTooShort, *seconds)
	}
	for l.Clock.Since(began) < patience {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.Clock.After(min(patience/looks, patience-l.Clock.Since(began))):
		}
		if err := absence.Lasts(ctx); err != nil {
			return nil, err
		}
	}
	return absence, nil
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
