package loadaware

import "muster.dev/muster/api/config"

// expiry says how a node counts whose figures have expired. For the score it is always a
// node that was not measured.
type expiry int

const (
	// refused refuses the node, whether there are thresholds or not: something is wrong with it.
	refused expiry = iota
	// letThrough has the node take pods, busy or not.
	letThrough
	// believed holds the last figures of the node against the thresholds, however old they are.
	believed
)

func newExpiry(args *config.LoadAwareSchedulingArgs) expiry {
	switch {
	case !*args.FilterExpiredNodeMetrics:
		return believed
	case *args.EnableScheduleWhenNodeMetricsExpired:
		return letThrough
	default:
		return refused
	}
}

// refuses reports whether a node of that state is refused for the age of its figures alone.
func (e expiry) refuses(m measured) bool {
	return e == refused && (m == expired || m == silent)
}

// judges reports whether there are figures of a node that are held against thresholds.
func (e expiry) judges(m measured) bool {
	return m == lately || m == expired && e == believed
}
