package loadaware

import "muster.dev/muster/api/config"

// expiry says what becomes of a node whose figures have expired. For the score it is always a
// node that was not measured.
type expiry int

const (
	// refusedByThresholds refuses the node if there are thresholds that nobody can hold it to.
	refusedByThresholds expiry = iota
	// refused refuses the node whether there are thresholds or not.
	refused
	// letThrough has the node take pods, busy or not.
	letThrough
	// believed holds the last figures of the node against the thresholds, however old they are.
	believed
)

func newExpiry(args *config.LoadAwareSchedulingArgs) expiry {
	switch filters := args.FilterExpiredNodeMetrics; {
	case filters != nil && !*filters:
		return believed
	case *args.EnableScheduleWhenNodeMetricsExpired:
		return letThrough
	case filters != nil:
		return refused
	default:
		return refusedByThresholds
	}
}

// refuses says whether a node of that state is refused for the age of its figures alone.
func (e expiry) refuses(m measured, thresholds vector) bool {
	if m != expired && m != silent {
		return false
	}
	return e == refused || e == refusedByThresholds && !thresholds.none()
}

// judges says whether there are figures of a node that are held against thresholds.
func (e expiry) judges(m measured) bool {
	return m == lately || m == expired && e == believed
}
