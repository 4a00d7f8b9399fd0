package gang

import (
	"time"

	"muster.dev/muster/gang/membership"
)

// Limits bound what is done for gangs.
type Limits struct {
	membership.Bounds
	// MaxHolding is how many groups of one namespace may have places that have not started, 0 for any number.
	MaxHolding int
	// Hold is how long a bind call is held: less than the scheduler waits for an answer.
	Hold time.Duration
	// DenyTTL is how long filter refuses a group without a look after its plan failed.
	DenyTTL time.Duration
	// PlanTime bounds the planning of one group.
	PlanTime time.Duration
	// Gather is how long to wait for more members after one came.
	Gather time.Duration
	// Evict is how long the scheduler has to evict the victims of a gang before muster does.
	Evict time.Duration
	// Tick is how often what hangs on time is looked after.
	Tick time.Duration
	// Retry is how often it is looked whether the cluster has changed, so that groups that wait
	// are to be planned anew.
	Retry time.Duration
	// Renew is how often assumptions are renewed: well within their time to live.
	Renew time.Duration
	// Few is how many nodes the scheduler may look at for a pod before it is worth a write to
	// tell it of the one.
	Few int
}

// DefaultLimits are those for a scheduler that waits so long for the answer of a bind call
// and of a filter call, and for assumptions of a time to live.
func DefaultLimits(bind, filter, assume time.Duration) Limits {
	return Limits{
		Bounds:     membership.Bounds{Timeout: time.Minute, MaxTimeout: 10 * time.Minute, MaxMembers: 10_000},
		MaxHolding: 200,
		Hold:       bind - bind/10,
		DenyTTL:    3 * time.Second,
		PlanTime:   filter / 2,
		Gather:     20 * time.Millisecond,
		Evict:      time.Second,
		Tick:       100 * time.Millisecond,
		Retry:      25 * time.Millisecond,
		Renew:      assume / 4,
		Few:        600,
	}
}
