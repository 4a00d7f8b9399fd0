package gang

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/status"
)

func TestWhyAGangWaitedIsNotSaidOnceItHasPlaces(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "4"), podGroup("g", 2, takes(20)))
		want := func(when string, reason status.Reason) {
			t.Helper()
			if o, _ := p.Publisher.Observe(named("g")); o.Reason != reason {
				t.Errorf("%s it waits because of %q: %s; want %q", when, o.Reason, o.Message, reason)
			}
		}
		p.set(pods[0])
		p.after(time.Second)
		want("with one of two", status.MembersMissing)
		p.set(pods[1])
		p.after(time.Second)
		want("when both have places", status.None)
		p.filter(pods[0])
		p.after(20 * time.Second)
		want("when its time is up", status.TimedOut)
		p.after(4 * time.Second)
		want("in the next try", status.None)
	})
}

func TestATimeThatIsCutIsSaid(t *testing.T) {
	run(t, func(p *process) {
		p.set(node("a", "4"), podGroup("g", 2, takes(3600)))
		p.set(members("g", 2, "1")[0])
		p.after(time.Second)
		o, _ := p.Publisher.Observe(named("g"))
		if want := "scheduleTimeoutSeconds is 3600, and no more than 10m0s count (ten times gangs.scheduleTimeout)"; o.Note != want {
			t.Errorf("it is said %q", o.Note)
		}
		if next := status.Next(o, time.Now()); !strings.HasSuffix(next.Conditions[0].Message, o.Note) {
			t.Errorf("the condition says %q", next.Conditions[0].Message)
		}
		p.set(podGroup("g", 2, takes(600)))
		p.after(time.Second)
		if o, _ := p.Publisher.Observe(named("g")); o.Note != "" {
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

func TestTheOldestMemberSaysWhoPlansAGang(t *testing.T) {
	names := func(pod *corev1.Pod, scheduler string, at time.Time) {
		pod.Spec.SchedulerName, pod.CreationTimestamp = scheduler, metav1.NewTime(at)
	}
	for name, order := range map[string][]int{"first": {0, 1}, "last": {1, 0}} {
		t.Run("it is seen "+name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 2, "1")
				names(pods[0], corev1.DefaultSchedulerName, time.Now())
				names(pods[1], "another", time.Now().Add(time.Second))
				p.set(node("a", "4"), podGroup("g", 2))
				for _, i := range order {
					p.set(pods[i])
					p.after(time.Second)
				}
				o, _ := p.Publisher.Observe(named("g"))
				if !strings.Contains(o.Note, "as g-1 does another: all are planned by default-scheduler") {
					t.Errorf("it is said %q", o.Note)
				}
				if got := p.Observer.Report()[0].Placed; got != 2 {
					t.Errorf("%d have places: %s", got, p.why("g"))
				}
				p.delete(pods[0])
				p.after(time.Second)
				if o, _ := p.Publisher.Observe(named("g")); o.Note != "" {
					t.Errorf("of one it is said %q", o.Note)
				}
			})
		})
	}
}
