package backfill

import (
	"fmt"
	"slices"
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/predicates"
)

// patience says how long gangs wait before room is booked for them.
type patience struct {
	after    time.Duration // 0 for ever
	profiles *predicates.Profiles
}

// books reports whether room is booked for gangs of any profile.
func (p *patience) books() bool {
	return p.after > 0 || slices.ContainsFunc(p.profiles.Stores(), func(store *predicates.VerdictStore) bool {
		after := store.Profile.ReserveAfter
		return after != nil && after.Duration > 0
	})
}

// configured returns how long gangs of a profile wait, 0 for ever.
func (p *patience) configured(schedulerName string) time.Duration {
	if store := p.profiles.Of(schedulerName); store != nil && store.Profile.ReserveAfter != nil {
		return store.Profile.ReserveAfter.Duration
	}
	return p.after
}

// of returns how long a gang waits, [v1alpha1.ReserveNever] for ever. A gang may wait for longer than the configuration says, and no
// shorter: who may create pods would keep nodes from others sooner else.
func (p *patience) of(s *core.Summary) time.Duration {
	configured := p.configured(s.SchedulerName)
	if configured == 0 {
		return v1alpha1.ReserveNever
	}
	return max(configured, s.ReserveAfter)
}

// whyNotYet says in words why no room is booked for a gang that has waited for a time, whatever else there is; "" when it has its turn.
func (p *patience) whyNotYet(s *core.Summary, waited time.Duration) string {
	switch of := p.of(s); {
	case p.configured(s.SchedulerName) == 0:
		return "the configuration (reserveAfter) books none for gangs of its profile"
	case of == v1alpha1.ReserveNever:
		return fmt.Sprintf("it asks for none by %s", v1alpha1.AnnotationReserveAfter)
	case waited < of:
		return fmt.Sprintf("none is before it has waited for %s", of)
	}
	return ""
}
