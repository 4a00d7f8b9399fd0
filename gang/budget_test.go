package gang

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestSearchesOfAnEventShareTheirTimeAndLaterOnesHaveMoreOnceItWasUp(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	b := newBudget(now, Limits{PlanTime: time.Second, MaxPlanTime: 3 * time.Second})
	for _, want := range []time.Duration{time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second} {
		b.renew()
		end := now.Now().Add(want)
		for range 3 {
			if got := b.deadline(); !got.Equal(end) {
				t.Errorf("the deadline is %s later than %s", got.Sub(end), end)
			}
			now.SetTime(now.Now().Add(time.Second))
			b.short = true
		}
	}
	b.renew()
	b.deadline()
	b.renew()
	if got := b.deadline().Sub(now.Now()); got != 3*time.Second {
		t.Errorf("after a search in time there are %s", got)
	}
}

// busy is a clock that is late by some more each time somebody looks at a moment.
type busy struct {
	clock.RealClock
	by     time.Duration
	moment time.Time
	late   time.Duration
}

func (b *busy) Now() time.Time {
	if now := b.RealClock.Now(); !now.Equal(b.moment) {
		b.moment, b.late = now, 0
	}
	b.late += b.by
	return b.moment.Add(b.late)
}

func TestAGangStartsThoughTimeWasUpWhenItWasFirstPlanned(t *testing.T) {
	runAt(t, &busy{by: 500 * time.Millisecond}, func(p *process) {
		pods := members("g", 8, "1") // five are looked at in time
		p.set(node("a", "8"), podGroup("g", 8))
		p.set(objects(pods)...)
		p.after(50 * time.Millisecond)
		p.wantStages("when it was planned once", map[string]int{"pending": 8})
		p.after(time.Minute)
		p.wantStages("after a while", map[string]int{"placed": 8})
	})
}

// What nobody had the time to look at is not known to have no room.
func TestATreeStartsThoughTimeWasUpWhenItsGangsWereLookedAt(t *testing.T) {
	const gangs = 12
	runAt(t, &busy{by: 50 * time.Millisecond}, func(p *process) {
		p.branch("", "root", gangs)
		p.set(node("a", "50"))
		pods := p.plant("root", "large", 1, 1, "99")
		for i := range gangs {
			pods = append(pods, p.plant("root", fmt.Sprint("small-", i), 1, 1, "1")...)
		}
		if started := p.startTree(pods); len(started) != gangs {
			t.Errorf("started are %v, want all that fit", started)
		}
	})
}
