package gang

import "muster.dev/muster/gang/core"

// The core decides the answers of gangs.
type (
	// Decision says what filter is to answer about a pod.
	Decision = core.Decision
	// Preemption names the pods to evict for a member of a gang.
	Preemption = core.Preemption
	// Harm is the damage that evictions would do to gangs.
	Harm = core.Harm
	// Summary is how far a gang is.
	Summary = core.Summary
	// Details is all about a gang.
	Details = core.Details
	// Member is how far a member is.
	Member = core.Member
)

// The damage of evictions, the worst last: see [core.Harm].
const (
	NoHarm      = core.NoHarm
	BreaksGang  = core.BreaksGang
	BreaksStart = core.BreaksStart
)

// ErrKept ends a bind call of a member that keeps its place and is to come again: see [core.ErrKept].
var ErrKept = core.ErrKept

// ReasonUnknown refuses a member that nobody has reported yet.
const ReasonUnknown = core.ReasonUnknown
