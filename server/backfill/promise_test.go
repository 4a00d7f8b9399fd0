package backfill

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/gang/core"
)

// Former gangs waited for a minute by the draws. A start takes two seconds, of an hour as of a minute.
func TestForecastsLearnFromWaitsWithoutTheTimeOfTheStart(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for name, c := range map[string]struct{ waited, want time.Duration }{
		"as drawn":             {time.Minute + 2*time.Second, time.Hour + starting},
		"half of that":         {30 * time.Second, time.Hour/2 + starting},
		"twice as long":        {2*time.Minute + starting, 2*time.Hour + starting},
		"as soon as was drawn": {time.Minute, time.Hour + starting},
	} {
		p, started := newPromises(prometheus.NewRegistry()), []core.Summary{{Name: "default/g", Account: core.Account{Started: true}}}
		for range leastPast {
			p.make(keyOf(&started[0]), promise{made: now, by: now.Add(time.Hour), lots: now.Add(time.Minute)})
			p.hold(started, now.Add(c.waited))
		}
		if got := p.by("default", now, now.Add(time.Hour), false).Sub(now); got != c.want {
			t.Errorf("%s: an hour by the draws is forecast as %s, want %s", name, got, c.want)
		}
		if got, want := p.by("other", now, now.Add(time.Hour), true).Sub(now), time.Hour+starting; got != want {
			t.Errorf("%s: an hour in another namespace is forecast as %s, want %s", name, got, want)
		}
	}
}
