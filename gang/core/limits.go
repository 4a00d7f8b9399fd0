package core

import (
	"time"

	"muster.dev/muster/gang/membership"
)

// Limits bound what is done for gangs.
type Limits struct {
	membership.Bounds
	// MaxHolding is how many groups of one namespace may have places that have not started, 0 for any number.
	MaxHolding int
	// MaxGap is the percentage of the members to start together that may be without a place while the others
	// keep theirs.
	MaxGap int
	// Hold is how long one bind call is held: less than the scheduler waits for an answer. It is no bound on how
	// long a gang may take: a member that is not let go by then keeps its place, and is held again.
	Hold time.Duration
	// DenyTTL is how long filter refuses a group without a look after its plan failed.
	DenyTTL time.Duration
	// EvictAfter is how long the scheduler has to evict the victims of a gang before muster does.
	EvictAfter time.Duration
	// SeekAfter is how long the scheduler has, after it was told that there is no room for a member, to ask which
	// pods to evict before muster looks for victims by itself. 0 is for ever.
	SeekAfter time.Duration
	// WaitWhenShort keeps members of a gang that has started gated while there is no place for them, where gangs
	// start without calls. Else they are left to the scheduler.
	WaitWhenShort bool
	// BreakAfter is how long after its start too few members of a gang may be bound, where gangs start without calls,
	// before those are evicted. 0 is for ever.
	BreakAfter time.Duration
	// EvictNobody has no victims sought for a gang that has not started, whether the scheduler asks or not.
	EvictNobody bool
	// EvictWhole has all of a gang evicted that evictions for another one leave with too few members.
	EvictWhole bool
	// Rest is how long the search for victims rests at least after it found none.
	Rest time.Duration
	// Renew is how often assumptions are renewed: well within their time to live.
	Renew time.Duration
	// Margin is how long after the watch has shown a reservation the scheduler may act on what it saw before.
	Margin time.Duration
	// Remind is how long after a reservation the scheduler is told of it again: a restarted scheduler has
	// forgotten it, and not every one has a Lease that shows its restart.
	Remind time.Duration
	// Few is how many nodes the scheduler may look at for a pod before it is worth a write to
	// tell it of the one.
	Few int
	// FewOfDevices is the same for a pod that claims devices: to try one on a node costs the scheduler more.
	FewOfDevices int
}
