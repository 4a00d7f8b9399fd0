package placeholder

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"muster.dev/muster/placement/nomination"
)

// failures are writes that failed, by what they were about.
type failures struct {
	backoff *flowcontrol.Backoff
	last    map[string]error
}

// A write that fails rests, twice as long each time.
const (
	firstRest = 250 * time.Millisecond
	mostRest  = 30 * time.Second
	// passing is how long a failure that the watch explains, as a rule, is not spoken of.
	passing = 2 * time.Second
)

func newFailures(c clock.Clock) failures {
	f := failures{flowcontrol.NewBackOff(firstRest, mostRest), map[string]error{}}
	f.backoff.Clock = c
	return f
}

// note keeps the result of a write.
func (f failures) note(about string, err error, now time.Time) {
	if err == nil {
		f.backoff.DeleteEntry(about)
		delete(f.last, about)
		return
	}
	f.backoff.Next(about, now)
	f.last[about] = err
}

// rests reports whether nothing is to be written yet, as that has just failed.
func (f failures) rests(about string, now time.Time) bool {
	return f.backoff.IsInBackOffSinceUpdate(about, now)
}

// said returns the error of the last write, nil when it succeeded. That the pod is there already, or has
// changed, is not reported before it lasts.
func (f failures) said(about string) error {
	err := f.last[about]
	if !f.persists(about) && (apierrors.IsAlreadyExists(err) || nomination.Outdated(err)) {
		return nil
	}
	return err
}

// persists reports whether a write has failed several times in a row.
func (f failures) persists(about string) bool { return f.backoff.Get(about) >= passing }

// forget forgets all.
func (f failures) forget() {
	for about := range f.last {
		f.note(about, nil, time.Time{})
	}
}
