package leadership

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/wait"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	"muster.dev/muster/api/config"
)

const (
	// termRetry is the pause between two attempts to read the lease.
	termRetry = time.Second
	// freePoll is the same while it is about to be free.
	freePoll = 200 * time.Millisecond
)

// Options of a Candidate. Options are required unless they say otherwise.
type Options struct {
	Registerer prometheus.Registerer
	Clock      clock.WithDelayedExecution
	// Leases reads and writes the lease, and nothing else; see [NewLeaseClient].
	Leases coordinationv1client.LeasesGetter
	// Config is valid. Its namespace holds the lease.
	Config config.LeaderElection
	// Name of the lease.
	Name string
	// Server is the address of the API server. A process that is started again in the place of one that has ended takes over from
	// it at once, if both have the same one. With none, it waits until the lease has run out.
	Server string
	// Eligibility says when the process may run for the lease. It may be nil: then it always may.
	Eligibility *Eligibility
}

// Term is one time of leading. Later ones have more transitions, or a younger lease.
type Term struct {
	Lease       time.Time // when the lease was created
	Transitions int32
}

// Candidate runs for a lease.
type Candidate struct {
	leases coordinationv1client.LeaseInterface
	name   string
	fence  *Fence
	lock   *lock
	config leaderelection.LeaderElectionConfig

	eligibility *Eligibility  // nil for always
	ineligible  chan struct{} // closed when it leads and must not any more
}

// New returns a Candidate that does nothing until it is run.
func New(o Options) (*Candidate, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("leader election: %w", err)
	}
	cfg := o.Config
	c := &Candidate{
		leases: o.Leases.Leases(cfg.ResourceNamespace), name: o.Name,
		fence:       newFence(o.Clock, cfg.RenewDeadline(), newMetrics(o.Registerer)),
		eligibility: o.Eligibility, ineligible: make(chan struct{}),
	}
	place := &seat{}
	if o.Server != "" {
		place = newSeat(o.Clock, host, o.Server, cfg.ResourceNamespace, o.Name)
	}
	c.lock = &lock{fence: c.fence, duration: cfg.LeaseDuration.Duration, seat: place, eligibility: o.Eligibility}
	c.lock.Interface = &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Name: o.Name, Namespace: cfg.ResourceNamespace}, Client: o.Leases,
		LockConfig: resourcelock.ResourceLockConfig{Identity: host + "_" + place.mark() + string(uuid.NewUUID())},
	}
	c.config = leaderelection.LeaderElectionConfig{
		Lock: c.lock, Name: o.Name, ReleaseOnCancel: true,
		LeaseDuration: cfg.LeaseDuration.Duration, RenewDeadline: cfg.RenewDeadline(), RetryPeriod: cfg.RetryPeriod(),
	}
	return c, nil
}

// Fence is open while the lease is held.
func (c *Candidate) Fence() *Fence { return c.fence }

// Waits is why a process that does not lead answers no calls: [ErrNotLeader], [ErrTakingOver], [ErrUnknown] or [ErrStandingBy].
func (c *Candidate) Waits() error {
	switch {
	case c.eligibility == nil:
		return ErrNotLeader
	case c.eligibility.Eligible():
		return ErrTakingOver
	case !c.eligibility.Known():
		return ErrUnknown
	default:
		return ErrStandingBy
	}
}

// Ineligible returns a channel that is closed when this process has led and may not any more. The caller that runs the
// Candidate is to stop then, in good order: the process still has the lease.
func (c *Candidate) Ineligible() <-chan struct{} { return c.ineligible }

// standBy watches the lease until this process may run for it, so that it knows by then whether who has it has gone. It
// says false when the context ends before.
func (c *Candidate) standBy(ctx context.Context) bool {
	if c.eligibility == nil {
		return true
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(watching, func(ctx context.Context) { _, _, _ = c.lock.Get(ctx) }, c.config.RetryPeriod)
	}()
	may := c.eligibility.await(ctx, true)
	stop()
	<-done // the lock is for one goroutine
	return may
}

// awaitFree returns once the lease can be taken, where it will be soon: the one that has it is gone, or gives it back as this
// process may run for it. The elector looks only every RetryPeriod. It says false when the context ends before.
func (c *Candidate) awaitFree(ctx context.Context) bool {
	for began := c.fence.clock.Now(); c.fence.clock.Since(began) < c.config.LeaseDuration; {
		record, _, err := c.lock.Get(ctx)
		if err != nil || record.HolderIdentity == "" {
			return true
		}
		next, gone := c.lock.seat.left(record.HolderIdentity)
		switch {
		case gone:
		case c.eligibility != nil && c.eligibility.Eligible():
			next = freePoll
		default:
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-c.fence.clock.After(next):
		}
	}
	return true
}

// Run runs for the lease until the context ends. When it is won, lead is called, once, with a context
// that ends with that of Run or when the lease is lost. It says whether everything has ended that only
// the leader may do: then the lease is given back, so that another one leads at once. Else it runs
// out, or the process that takes the seat of this one takes it.
//
// Run returns the error of lead, and [ErrLost] when the lease was lost: the process must end, as another
// one may lead already. A Candidate can be run once.
func (c *Candidate) Run(ctx context.Context, lead func(context.Context, Term) (clean bool, err error)) error {
	if !c.standBy(ctx) || !c.awaitFree(ctx) {
		c.fence.shut(ErrResigned)
		return nil
	}
	electing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	won, over := make(chan struct{}), make(chan struct{})
	cfg := c.config
	cfg.Callbacks = leaderelection.LeaderCallbacks{
		OnStartedLeading: func(context.Context) { close(won) },
		OnStoppedLeading: func() {},
	}
	elector, err := leaderelection.NewLeaderElector(cfg)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	defer context.AfterFunc(c.fence.over, stop)()
	go func() {
		defer close(over)
		elector.Run(electing)
		c.fence.shut(ErrLost) // unless it has closed before, as the elector gives up later
	}()
	clean := true
	select {
	case <-ctx.Done(): // it does not lead
	case <-over: // nor will it
	case <-won:
		clean, err = c.serve(ctx, lead)
	}
	if clean {
		c.fence.shut(ErrResigned)
	} else {
		c.fence.shut(errUnclean)
	}
	<-over // for as long as the client waits for an answer, if the lease is given back
	if why := context.Cause(c.fence.over); errors.Is(why, ErrLost) {
		return why
	}
	return err
}

// serve has the leader's work done.
func (c *Candidate) serve(ctx context.Context, lead func(context.Context, Term) (clean bool, err error)) (clean bool, err error) {
	leading, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(c.fence.over, func() { stop(context.Cause(c.fence.over)) })()
	term, err := c.term(leading)
	if err != nil {
		return true, nil // it was asked to stop, or the lease is lost
	}
	if c.eligibility != nil {
		go func() {
			if c.eligibility.await(leading, false) {
				close(c.ineligible)
			}
		}()
	}
	return lead(leading, term)
}

// term reads the term off the lease, and tries until the context ends.
func (c *Candidate) term(ctx context.Context) (t Term, err error) {
	err = wait.PollUntilContextCancel(ctx, termRetry, true, func(ctx context.Context) (bool, error) {
		lease, err := c.leases.Get(ctx, c.name, metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // it was there a moment ago
		}
		if holder := ptr.Deref(lease.Spec.HolderIdentity, ""); holder != c.lock.Identity() {
			c.fence.shut(heldBy(holder))
			return false, ErrLost
		}
		t = Term{Lease: lease.CreationTimestamp.UTC(), Transitions: ptr.Deref(lease.Spec.LeaseTransitions, 0)}
		return true, nil
	})
	return t, err
}
