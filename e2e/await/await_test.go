package await

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPollThatComesNearerHasMoreTime(t *testing.T) {
	for name, test := range map[string]struct {
		check func(since time.Duration) error
		ends  time.Duration
		want  string // of the error, "" for none
	}{
		"it is so in time":            {so(4*time.Second, "not yet"), 4 * time.Second, ""},
		"the answer is always one":    {so(time.Hour, "no"), 5 * time.Second, "it is the same since 5s: no"},
		"it comes nearer, and is so":  {so(9*time.Second, ""), 9 * time.Second, ""},
		"it comes nearer without end": {so(time.Hour, ""), 15 * time.Second, "context deadline exceeded: 1"},
		"it came nearer, and no more": {
			func(since time.Duration) error { return errors.New(min(since, 2*time.Second).String()) }, 7 * time.Second, ": 2s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := until(t.Context(), "it is so", 5*time.Second, 15*time.Second, func(context.Context) error {
					return test.check(time.Since(began))
				})
				if took := time.Since(began).Round(time.Second); took != test.ends {
					t.Errorf("it ends after %s, want after %s", took, test.ends)
				}
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("error %v, want %q", err, test.want)
				}
			})
		})
	}
}

// so is an error until some time: the time itself where it has no text.
func so(when time.Duration, not string) func(since time.Duration) error {
	return func(since time.Duration) error {
		if since >= when {
			return nil
		}
		return errors.New(cmp.Or(not, since.String()))
	}
}
