package gang

import (
	"testing"
	"time"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
)

// TestWhoComesInThePlaceOfMembersThatAreBeingDeletedStartsAsAGang has all of a gang deleted at once, as who restarts a job
// does: its controller makes new pods while the old ones end.
func TestWhoComesInThePlaceOfMembersThatAreBeingDeletedStartsAsAGang(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 6, "1")
		old, fresh := pods[:3], pods[3:]
		p.set(node("a", "5"), podGroup("g", 3))
		p.set(objects(old)...)
		p.after(time.Second)
		p.wantHeld("the first three", false, p.start(old...)...)
		p.after(time.Second)
		for _, pod := range old {
			on("a")(pod)
			p.set(leaving(pod))
		}
		for _, pod := range fresh {
			pod.CreationTimestamp.Time = time.Now()
			p.set(pod)
		}
		p.after(time.Second)
		if got := p.filter(fresh[0]); got != core.ReasonNoPlace {
			t.Errorf("with room for two of three beside members that end, a member is told %q", got)
		}
		if got := p.Observer.Report()[0]; got.Bound != 0 || got.Leaving != 3 {
			t.Errorf("%d members are shown as bound while they end, and %d as leaving, want 0 and 3", got.Bound, got.Leaving)
		}
		p.delete(old[0])
		p.after(5 * time.Second)
		calls := p.start(fresh[:2]...)
		p.wantHeld("two of three, while others end", true, calls...)
		p.wantHeld("all three", false, append(calls, p.start(fresh[2])...)...)
		p.wantRecords(record.Record{Members: 3, MinMember: 3}, record.Record{Members: 3, MinMember: 3})
	})
}

func TestAMemberThatIsBeingDeletedIsReplacedAlone(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 4, "1")
		p.set(node("a", "5"), podGroup("g", 3))
		p.set(objects(pods[:3])...)
		p.after(time.Second)
		p.start(pods[:3]...)
		on("a")(pods[0])
		p.set(leaving(pods[0]), pods[3])
		p.after(time.Second)
		p.wantHeld("beside two that run", false, p.start(pods[3])...)
	})
}
