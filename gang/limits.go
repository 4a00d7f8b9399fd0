package gang

import (
	"time"

	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
)

// Limits bound what is done for gangs.
type Limits struct {
	core.Limits
	// PlanTime bounds the planning of one group at first, and MaxPlanTime once time was up in vain. Both are
	// far shorter than the wait for a lock after which muster is taken for stuck.
	PlanTime, MaxPlanTime time.Duration
	// Gather is how long to wait for more members after one came.
	Gather time.Duration
	// Tick is how often what hangs on time is looked after.
	Tick time.Duration
	// Retry is the period of looking whether the cluster has changed, so that waiting groups are to be planned
	// again.
	Retry time.Duration
}

// Margin is how long after the watch has shown a reservation kube-scheduler may act on what it saw before. That long muster
// waits, and proves the places once more, before it lifts gates; there is no such delay when no pod that waited when the
// room was kept still waits. benchmargin measures how often less is too little.
const Margin = 250 * time.Millisecond

// DefaultLimits returns the limits for a scheduler that waits that long for the answers of a bind call and of a
// filter call, and for assumptions of a time to live.
func DefaultLimits(bind, filter, assume time.Duration) Limits {
	const retry = 25 * time.Millisecond
	return Limits{
		Limits: core.Limits{
			Bounds:     membership.Bounds{Timeout: time.Minute, MaxTimeout: 10 * time.Minute, MaxMembers: membership.MaxMembers},
			MaxHolding: 200,
			MaxGap:     10, // as the PodGroup controllers of the coscheduling plugin
			Hold:       bind - bind/10,
			DenyTTL:    3 * time.Second, // a place that comes up is taken all the same
			EvictAfter: time.Second,
			SeekAfter:  2 * time.Second, // kube-scheduler asks within a cycle or two, or never
			EvictWhole: true,
			Rest:       retry,
			Renew:      assume / 4,
			Margin:     Margin,
			Remind:     time.Minute,

			Few:          600,
			FewOfDevices: 100,
		},
		PlanTime:    filter / 2,
		MaxPlanTime: 2 * filter,
		Gather:      20 * time.Millisecond,
		Tick:        100 * time.Millisecond,
		Retry:       retry,
	}
}

// budget bounds how long places may be sought, and the lock of a Manager be held for that. All searches on
// account of one event share it. When time was up, later events have twice the time, up to a limit: otherwise a
// process that gets little of its core would never find a place for a large gang.
type budget struct {
	clock      clock.PassiveClock
	time, most time.Duration
	until      time.Time // for the present event, zero before its first search
	short      bool      // time was up
}

func newBudget(c clock.PassiveClock, limits Limits) *budget {
	return &budget{clock: c, time: limits.PlanTime, most: max(limits.PlanTime, limits.MaxPlanTime)}
}

// renew begins another event.
func (b *budget) renew() {
	b.until = time.Time{}
	if b.short {
		b.time, b.short = min(2*b.time, b.most), false
	}
}

// deadline returns when the searches of the present event have to end.
func (b *budget) deadline() time.Time {
	if b.until.IsZero() {
		b.until = b.clock.Now().Add(b.time)
	}
	return b.until
}

// LimitsOf returns the limits that a valid configuration asks for.
func LimitsOf(c *config.Configuration) Limits {
	gangs := &c.Gangs
	limits := DefaultLimits(c.Timeouts.Bind.Duration, c.Timeouts.Filter.Duration, c.Timeouts.Assume())
	limits.Bounds, limits.MaxHolding = membership.BoundsOf(gangs), int(gangs.MaxHoldingPerNamespace)
	limits.WaitWhenShort = gangs.WhenShort != config.WhenShortFinish
	if gangs.WhenShort == config.WhenShortBreak {
		limits.BreakAfter = gangs.BreakAfter()
	}
	limits.EvictNobody, limits.EvictWhole = gangs.Evict == config.EvictNever, gangs.Evict == config.EvictWhole
	return limits
}
