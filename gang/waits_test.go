package gang

import (
	"testing"
	"time"

	"muster.dev/muster/gang/core"
)

func TestAWaitingGangTellsSinceWhenAndWhatItsLastPlanFound(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 4, "3")
		began := time.Now().Truncate(time.Second).Add(-time.Hour)
		for i, pod := range pods {
			pod.CreationTimestamp.Time = began.Add(time.Duration(i) * time.Minute)
		}
		tells := func(when string, found int, since time.Time) {
			t.Helper()
			if got := p.Observer.Report()[0]; got.Found != found || !got.Since.Equal(since) {
				t.Errorf("%s: %d places, waits since %v (%s), want %d, %v", when, got.Found, got.Since, got.Why, found, since)
			}
		}
		p.set(podGroup("g", 4), node("a", "6"), node("b", "3"))
		p.set(objects(pods[:3])...)
		p.after(time.Second)
		tells("before all are there", 0, began)
		p.set(pods[3])
		p.after(time.Second)
		if got := p.filter(pods[0]); got != core.ReasonNoPlace {
			t.Fatalf("with room for three of four, a member is told %q", got)
		}
		tells("with room for three of four", 3, began)
		p.delete(pods[0])
		p.after(time.Second)
		tells("once the first one is gone", 0, began.Add(time.Minute))
		p.set(pods[0])
		p.set(node("b", "6"))
		p.after(5 * time.Second)
		p.wantHeld("all four", false, p.start(pods...)...)
		tells("once it has started", 0, time.Time{})
	})
}
