package placeholder

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"muster.dev/muster/placement/nomination"
)

// failures are writes that failed, by what they were about.
type failures map[string]failure

type failure struct {
	err   error
	again time.Time
	rest  time.Duration
}

// A write that fails rests, twice as long each time.
const (
	firstRest = 250 * time.Millisecond
	mostRest  = 30 * time.Second
	// passing is how long a failure that the watch explains, as a rule, is not spoken of.
	passing = 2 * time.Second
)

// note keeps what came of a write.
func (f failures) note(about string, err error, now time.Time) {
	if err == nil {
		delete(f, about)
		return
	}
	rest := min(max(2*f[about].rest, firstRest), mostRest)
	f[about] = failure{err, now.Add(rest), rest}
}

// waits reports whether nothing is to be written yet, as that has just failed.
func (f failures) waits(about string, now time.Time) bool { return now.Before(f[about].again) }

// last is what the last write said, nil when it was made. That the pod is there already, or has changed, is nothing to
// speak of before it lasts.
func (f failures) last(about string) error {
	of := f[about]
	if of.rest < passing && (apierrors.IsAlreadyExists(of.err) || nomination.Outdated(of.err)) {
		return nil
	}
	return of.err
}

// persist reports whether a write has failed several times in a row.
func (f failures) persist(about string) bool { return f[about].rest >= passing }
