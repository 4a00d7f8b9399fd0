package gang

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
)

// recorder has records wait until they are let through, or fail.
func (p *process) troubled(trouble func(context.Context) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble = trouble
}

// slowly has records wait until they are let through.
func (p *process) slowly() (letThrough func()) {
	through := make(chan struct{})
	p.troubled(func(ctx context.Context) error {
		select {
		case <-through:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return func() { close(through) }
}

func (p *process) wantHeld(when string, want bool, calls ...*call) {
	p.Helper()
	for _, call := range calls {
		if call.held() != want || !want && call.err != nil {
			p.Errorf("%s, %s is held: %t, error %v", when, call.pod.Name, call.held(), call.err)
		}
	}
}

func (p *process) wantRecords(want ...record.Record) {
	p.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if diff := cmp.Diff(want, p.records, cmpopts.IgnoreFields(record.Record{}, "Time", "PodGroup", "Since", "Until")); diff != "" {
		p.Errorf("records (-want +got):\n%s", diff)
	}
}

func TestAStartIsRecordedBeforeAnyMemberGoes(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 4, "1")
		p.set(node("a", "8"), podGroup("g", 3))
		p.set(objects(pods)...)
		p.after(time.Second)
		letThrough := p.slowly()
		calls := p.start(pods[:3]...)
		p.after(5 * time.Second)
		p.wantHeld("while it is written", true, calls...)
		p.set(podGroup("g", 4)) // too late
		p.after(time.Second)
		letThrough()
		p.wantHeld("when it is recorded", false, calls...)
		p.wantRecords(record.Record{Members: 3, MinMember: 3})
		if until := p.records[0].Until; !until.Equal(pods[3].CreationTimestamp.Time) {
			t.Errorf("the record says that members came until %s, want %s", until, pods[3].CreationTimestamp)
		}
		p.set(podGroup("g", 3))
		p.after(time.Second)
		p.wantHeld("once the gang has started", false, p.bind(pods[3], "a"))
		p.wantRecords(record.Record{Members: 3, MinMember: 3})
	})
}

func TestNobodyIsBoundToANodeThatHasGoneWhileTheStartWasRecorded(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "1"), node("b", "1"), podGroup("g", 2))
		p.set(objects(pods)...)
		p.after(time.Second)
		letThrough := p.slowly()
		calls := p.start(pods...)
		p.wantHeld("while it is written", true, calls...)
		if err := p.cluster.Delete(node(calls[0].node, "1")); err != nil {
			t.Fatal(err)
		}
		letThrough()
		if calls[0].held() || !errors.Is(calls[0].err, core.ErrNodeGone) {
			t.Errorf("the call for the node that is gone is held: %t, error %v", calls[0].held(), calls[0].err)
		}
		p.wantHeld("beside one without a place", true, calls[1])
	})
}

func TestStartsOfSeveralGangsAreRecordedAtTheSameTime(t *testing.T) {
	run(t, func(p *process) {
		one, two := members("one", 2, "1"), members("two", 2, "1")
		p.set(node("a", "8"), podGroup("one", 2), podGroup("two", 2))
		p.set(objects(append(one, two...))...)
		p.after(time.Second)
		letThrough := p.slowly()
		calls := append(p.start(one...), p.start(two...)...)
		p.wantHeld("while they are written", true, calls...)
		p.troubled(nil)
		letThrough()
		p.wantHeld("when they are recorded", false, calls...)
		p.wantRecords(record.Record{Members: 2, MinMember: 2}, record.Record{Members: 2, MinMember: 2})
	})
}

func TestMembersStayHeldUntilTheirStartIsRecordedInTime(t *testing.T) {
	away := errors.New("the API server is away")
	for _, test := range []struct {
		name    string
		trouble func(ctx context.Context) error
		want    error
		why     string
	}{
		{"the API server is away", func(ctx context.Context) error { <-ctx.Done(); return away }, core.ErrUnrecorded, "its start "},
		{"a later leader was here", func(context.Context) error { return record.ErrFenced }, record.ErrFenced, "another replica of muster"},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				pods := members("g", 2, "1")
				p.set(node("a", "8"), podGroup("g", 2, func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = int64(20) }))
				p.set(objects(pods)...)
				p.after(time.Second)
				p.troubled(test.trouble)
				calls := p.start(pods...)
				if errors.Is(test.want, core.ErrUnrecorded) {
					p.after(18 * time.Second)
					p.wantHeld("before the time is up", true, calls...)
				}
				p.after(1100 * time.Millisecond)
				for _, call := range calls {
					if call.held() || !errors.Is(call.err, test.want) {
						t.Errorf("%s is held: %t, error %v, want %v", call.pod.Name, call.held(), call.err, test.want)
					}
				}
				if got := p.why("g"); !strings.Contains(got, test.why) {
					t.Errorf("it waits because: %s", got)
				}
				p.wantRecords()
			})
		})
	}
}

func TestAStartThatMustNotBeRecordedIsTriedAgainWhenItMay(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "8"), podGroup("g", 2))
		p.set(objects(pods)...)
		p.after(time.Second)
		p.troubled(func(context.Context) error { return record.ErrChanged })
		calls := p.start(pods...)
		p.after(time.Second)
		p.wantHeld("when the PodGroup has changed", true, calls...)
		p.troubled(nil)
		p.after(time.Second)
		p.wantHeld("when that was seen", false, calls...)
	})
}

func TestNobodyGoesWhenAMemberLeavesWhileTheStartIsRecorded(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 3, "1")
		p.set(node("a", "8"), podGroup("g", 2))
		p.set(objects(pods[:2])...)
		p.after(time.Second)
		letThrough := p.slowly()
		calls := p.start(pods[:2]...)
		p.delete(pods[0])
		letThrough()
		p.after(time.Second)
		p.wantHeld("when one of two has left", true, calls[1])
		p.set(pods[2])
		p.after(time.Second)
		p.wantHeld("when another one has come", false, calls[1], p.start(pods[2])[0])
	})
}

func TestNoStartBeginsWhenTheTimeOfTheGangIsUp(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "8"))
		p.after(50 * time.Millisecond) // between two ticks
		p.set(podGroup("g", 2, func(spec map[string]any) { spec["scheduleTimeoutSeconds"] = int64(20) }))
		p.set(objects(pods)...)
		p.after(30 * time.Millisecond)
		first := p.start(pods[0])[0]
		p.after(time.Until(p.Observer.Report()[0].Deadline))
		last := p.start(pods[1])[0]
		p.after(time.Second)
		for _, call := range []*call{first, last} {
			if call.held() || !errors.Is(call.err, core.ErrTimeout) {
				t.Errorf("%s is held: %t, error %v", call.pod.Name, call.held(), call.err)
			}
		}
		p.wantRecords()
	})
}

func TestMembersThatFollowOthersAreRecordedAnewWhenTooFewAreBound(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 5, "1")
		p.set(node("a", "8"), podGroup("g", 2))
		p.set(objects(pods[:2])...)
		p.after(time.Second)
		p.wantHeld("when there are two", false, p.start(pods[:2]...)...)
		p.after(time.Second)
		p.set(objects(pods[2:])...)
		for _, pod := range pods[2:4] {
			p.count(pod, "a")
			if err := p.Verbs.Permit(p.Context(), pod.UID, "a"); err != nil { // and the API server takes its time
				t.Error(err)
			}
		}
		p.wantRecords(record.Record{Members: 2, MinMember: 2})
		p.delete(pods[:2]...)
		letThrough := p.slowly()
		last := p.bind(pods[4], "a")
		p.after(time.Second)
		p.wantHeld("when two others are on their way, and nobody is bound", true, last)
		letThrough()
		p.wantHeld("when that is recorded", false, last)
		p.wantRecords(record.Record{Members: 2, MinMember: 2}, record.Record{Members: 3, MinMember: 2})
	})
}

func TestAGroupWithoutAnObjectHasNoRecord(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1", withoutObject("g", "2"))
		p.set(node("a", "8"))
		p.set(objects(pods)...)
		p.after(time.Second)
		p.wantHeld("once there are two", false, p.start(pods...)...)
		p.wantRecords()
	})
}

func TestWhatAFormerProcessLeftIsCompletedFirst(t *testing.T) {
	for _, test := range []struct {
		name  string
		bound int // of the gang that was let go
		min   int64
		first bool
	}{
		{"none was bound yet, so that nothing was left half done", 0, 2, false},
		{"one was bound, and minMember was raised then", 1, 4, true},
		{"none was bound, and minMember was raised then", 0, 4, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				left, other := members("left", 3, "1"), members("a-new-one", 2, "1")
				for _, pod := range left[:test.bound] {
					pod.Spec.NodeName = "b"
				}
				p.after(time.Second)
				p.set(recorded(podGroup("left", test.min), record.Record{Members: 2, MinMember: 2, Time: time.Now()}), podGroup("a-new-one", 2))
				p.set(objects(other)...)
				p.set(objects(left[:2])...)
				p.set(node("a", "2"), node("b", "1"))
				if test.bound == 1 {
					p.set(node("a", "1"))
				}
				p.after(time.Second)
				first, second := left[test.bound], other[0]
				if !test.first {
					first, second = second, first
				}
				if got := p.filter(first); got != "a" {
					t.Errorf("%s is told %q", first.Name, got)
				}
				if got := p.filter(second); got != core.ReasonNoPlace && got != core.ReasonSiblings {
					t.Errorf("%s is told %q", second.Name, got)
				}
			})
		})
	}
}

func TestWhoWritesToAPodGroupDoesNotChooseWhoIsPlannedFirst(t *testing.T) {
	for _, test := range []struct {
		name    string
		started bool // it has started before, and all of its pods have failed
		after   time.Duration
		fresh   bool // the process has just begun to lead
	}{
		{"it says that it was let go just now", false, 0, false},
		{"it says that it is let go tomorrow", false, 24 * time.Hour, false},
		{"it has started once, and says that it is let go tomorrow", true, 24 * time.Hour, false},
		{"it says so to a process that has just begun to lead", false, 0, true},
		{"it says to such a process that it is let go in 2099", false, 73 * 365 * 24 * time.Hour, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			run(t, func(p *process) {
				group := podGroup("writes", 2)
				p.set(group, podGroup("a-new-one", 2), node("a", "2"))
				if !test.fresh {
					p.after(2 * time.Minute)
				}
				if test.started {
					former := members("writes", 2, "1")
					p.set(objects(former)...)
					p.after(time.Second)
					p.wantHeld("the first time", false, p.start(former...)...)
					p.after(time.Second)
					p.finish(corev1.PodFailed, former...)
					p.after(time.Second)
				}
				p.set(recorded(group, record.Record{Members: 2, MinMember: 2, Time: time.Now().Add(test.after), Until: time.Now().Add(test.after)}))
				other, writes := members("a-new-one", 2, "1"), members("writes", 4, "1")[2:]
				for _, pod := range other {
					pod.Spec.Priority = new(int32(1))
				}
				p.set(node("a", "0"))
				p.set(objects(other)...)
				p.set(objects(writes)...)
				p.set(node("a", "2"))
				p.after(time.Second)
				if got := p.filter(other[0]); got != "a" {
					t.Errorf("the other one is told %q", got)
				}
				if got := p.filter(writes[0]); got != core.ReasonNoPlace {
					t.Errorf("the one that writes is told %q", got)
				}
			})
		})
	}
}

func TestAGangThatHasStartedDoesNotSayWhyItWaited(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "4"), podGroup("g", 2))
		p.set(objects(pods)...)
		p.after(time.Second)
		call := p.start(pods[0])[0]
		p.set(podGroup("g", 3))
		p.after(time.Second)
		p.filter(pods[1])
		if o, _ := p.Publisher.Observe(named("g")); o.Reason != status.MembersMissing {
			t.Fatalf("with one more that is asked for, it waits because of %q: %s", o.Reason, o.Message)
		}
		p.set(podGroup("g", 2))
		p.wantHeld("when that is taken back", false, append(p.start(pods[1]), call)...)
		if o, _ := p.Publisher.Observe(named("g")); o.Reason != status.None || o.Message != "" {
			t.Errorf("then it waits because of %q: %s", o.Reason, o.Message)
		}
	})
}
