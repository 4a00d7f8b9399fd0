package gang

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/status"
)

func TestWhyAGangWaitedIsNotSaidOnceItHasPlaces(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "4"), podGroup("g", 2, takes(20)))
		want := func(when string, reason status.Reason) {
			t.Helper()
			if o, _ := p.Observe(named("g")); o.Reason != reason {
				t.Errorf("%s it waits because of %q: %s; want %q", when, o.Reason, o.Message, reason)
			}
		}
		p.set(pods[0])
		p.after(time.Second)
		want("with one of two", status.MembersMissing)
		p.set(pods[1])
		p.after(time.Second)
		want("when both have places", "")
		p.filter(pods[0])
		p.after(20 * time.Second)
		want("when its time is up", status.TimedOut)
		p.after(4 * time.Second)
		want("in the next try", "")
	})
}

func TestATimeThatIsCutIsSaid(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "4"), podGroup("g", 2, takes(3600)))
		p.set(members("g", 2, "1")[0])
		p.after(time.Second)
		o, _ := p.Observe(named("g"))
		if want := "scheduleTimeoutSeconds is 3600, and no more than 10m0s count (gangs.maxScheduleTimeout)"; o.Note != want {
			t.Errorf("it is said %q", o.Note)
		}
		if next := status.Next(o, time.Now()); !strings.HasSuffix(next.Conditions[0].Message, o.Note) {
			t.Errorf("the condition says %q", next.Conditions[0].Message)
		}
		p.set(podGroup("g", 2, takes(600)))
		p.after(time.Second)
		if o, _ := p.Observe(named("g")); o.Note != "" {
			t.Errorf("of a time that is not cut it is said %q", o.Note)
		}
	})
}

func TestARecordThatFailsAfterItsGroupIsGoneDeniesNobody(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 4, "1")
		p.set(node("a", "4"), podGroup("g", 2, takes(20)))
		p.set(objects(pods[:2])...)
		p.after(time.Second)
		p.troubled(func(ctx context.Context) error { <-ctx.Done(); return errors.New("the API server is away") })
		p.start(pods[:2]...)
		p.delete(pods[:2]...)
		p.after(20 * time.Second)
		p.troubled(nil)
		p.set(objects(pods[2:])...)
		if got := p.filter(pods[2]); got != "a" {
			t.Errorf("a member of the next group of the name is told %q", got)
		}
		if got := p.measured("muster_gang_denials_total"); got["unrecorded"] > 0 {
			t.Errorf("denials: %v", got)
		}
	})
}

func TestABindCallThatIsRefusedLeavesNothingThatCounts(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "4"), podGroup("g", 2))
		p.set(pods[0])
		p.after(time.Second)
		p.set(podGroup("g", -1))
		if call := p.bind(pods[0], "a"); call.held() || !errors.Is(call.err, core.ErrNoGroup) {
			t.Errorf("it is held: %t, error %v", call.held(), call.err)
		}
		if on := p.cluster.Assumed(pods[0].UID); on != "" {
			t.Errorf("it counts on %s", on)
		}
	})
}
