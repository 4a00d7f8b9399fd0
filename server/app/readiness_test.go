package app

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes/fake"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/leadership"
)

// newCandidate is the election of a process that has not run for its lease.
func newCandidate(t *testing.T, eligibility *leadership.Eligibility) *Election {
	t.Helper()
	election, err := NewElection(ElectionOptions{
		Registerer: prometheus.NewRegistry(), Leases: fake.NewClientset().CoordinationV1(), Config: config.Default().LeaderElection,
		Name: "muster", Eligibility: eligibility,
	})
	if err != nil {
		t.Fatal(err)
	}
	return election
}

func TestACallWaitsForAProcessThatIsAboutToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		election, err := NewElection(ElectionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var synced atomic.Bool
		r := NewReadiness(ReadinessOptions{Synced: synced.Load, Election: election})
		began := time.Now()
		answered := make(chan error, 1)
		go func() { answered <- r.Await(t.Context()) }()
		<-time.After(time.Second)
		synced.Store(true)
		<-time.After(time.Second / 2)
		select {
		case err := <-answered:
			t.Fatalf("before it leads: %v", err)
		default:
		}
		election.begin(leadership.Term{}, nil)
		if err := <-answered; err != nil {
			t.Errorf("once it leads: %v", err)
		}
		if after := time.Since(began); after > 3*time.Second/2+servingPoll {
			t.Errorf("it is answered after %s", after)
		}
		if err := r.Await(t.Context()); err != nil {
			t.Errorf("while it leads: %v", err)
		}
	})
}

func TestForHowLongACallWaits(t *testing.T) {
	unknown, known, standingBy := leadership.NewEligibility(), leadership.NewEligibility(), leadership.NewEligibility()
	known.Set(true)
	standingBy.Know()
	for name, test := range map[string]struct {
		election *Election
		unsynced bool
		stops    bool
		want     error
		at       time.Duration
	}{
		"while its view is not complete":               {election: newCandidate(t, nil), unsynced: true, want: ErrNotSynced, at: awaitServing},
		"while another replica leads":                  {election: newCandidate(t, nil), want: leadership.ErrNotLeader},
		"while it may lead":                            {election: newCandidate(t, known), want: leadership.ErrTakingOver, at: awaitServing},
		"while it does not know whether it may":        {election: newCandidate(t, unknown), want: leadership.ErrUnknown, at: awaitServing},
		"while it stands by, as it may not know yet":   {election: newCandidate(t, standingBy), want: leadership.ErrStandingBy, at: awaitServing},
		"while it stops, though its view is not whole": {election: newCandidate(t, nil), unsynced: true, stops: true, want: ErrNotSynced},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := NewReadiness(ReadinessOptions{Synced: func() bool { return !test.unsynced }, Election: test.election})
				if test.stops {
					r.Stop()
				}
				began := time.Now()
				err := r.Await(t.Context())
				if after := time.Since(began); !errors.Is(err, test.want) || after != test.at {
					t.Errorf("the answer is %v after %s, want %v after %s", err, after, test.want, test.at)
				}
			})
		})
	}
}

func TestACallerThatGoesDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewReadiness(ReadinessOptions{Synced: func() bool { return false }, Election: newCandidate(t, nil)})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if err := r.Await(ctx); !errors.Is(err, ErrNotSynced) || time.Since(began) != time.Second {
			t.Errorf("the answer is %v after %s", err, time.Since(began))
		}
	})
}
