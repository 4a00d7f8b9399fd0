package loadaware

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Meter says what nodes and pods use, by the arguments of a profile: how old figures may be,
// which statistic counts, how pods are estimated that were not measured. It holds nothing
// against anybody. It is safe for concurrent use.
type Meter struct{ load *LoadAware }

// NewMeter makes one by the arguments of the first of the profiles of a validated configuration that
// runs LoadAware, or by their defaults when none does. It knows what LoadAware knows there,
// and these resources.
func NewMeter(profiles []config.Profile, resources []corev1.ResourceName, o Options) *Meter {
	args, name := *config.DefaultLoadAwareSchedulingArgs(), ""
	if at := slices.IndexFunc(profiles, func(p config.Profile) bool { return Runs(&p) }); at >= 0 {
		args, name = *profiles[at].LoadAwareSchedulingArgs(), profiles[at].SchedulerName
	}
	args.SupportedResources = slices.Concat(args.SupportedResources, resources)
	return &Meter{newLoadAware(name, &args, o)}
}

// Expiration returns the age at which figures are not believed any more.
func (m *Meter) Expiration() time.Duration { return m.load.expiration }

// Resources returns the resources of amounts, in their order: CPU is in thousandths, memory in bytes.
func (m *Meter) Resources() []corev1.ResourceName { return m.load.resources.names }

// Amounts returns the amounts of a map by resource name, in the order of [Meter.Resources].
func (m *Meter) Amounts(byName map[corev1.ResourceName]int64) []int64 {
	return m.load.resources.vector(byName)
}

// Measurement is how much of a node is used. Amounts are in the order of [Meter.Resources].
type Measurement struct {
	// At is when it was measured, and Since when the time begins that the figures are of.
	At, Since time.Time
	// Used is the measured use of the node, or the statistic of it that LoadAware filters by.
	Used []int64
	// Expected is Used, and an estimate of what Used does not show yet: of the pods that are on the node, and,
	// in full, of the pods that are about to come.
	Expected []int64
	// Allocatable are the resources that the node offers.
	Allocatable []int64
}

// Ceilings returns the least amounts that reach thresholds, which are in percent of what the node
// offers: 0 where there is none.
func (m *Measurement) Ceilings(thresholds []int64) []int64 {
	ceilings := make([]int64, len(thresholds))
	for i, threshold := range thresholds {
		ceilings[i] = percentUp(threshold, m.Allocatable[i])
	}
	return ceilings
}

// Node returns how much of a node is used. It says false when that was not measured lately, or when
// the statistic is missing.
func (m *Meter) Node(node *cluster.Node) (Measurement, bool) {
	w := m.load.of(node)
	if m.load.measured(node.Usage) != lately {
		return Measurement{}, false
	}
	a := m.load.account(node, w.custom, nil)
	sum := &a.filter[anyone].of
	if sum.base.kind == ofEstimates {
		return Measurement{}, false
	}
	expected := make(vector, len(a.allocatable))
	for i := range expected {
		expected[i] = sum.whole(i)
	}
	over := max(cmp.Or(node.Usage.Interval, defaultInterval), sum.base.statistic.over)
	return Measurement{
		At:          node.Usage.Updated,
		Since:       node.Usage.Updated.Add(-over),
		Used:        sum.used,
		Expected:    expected,
		Allocatable: a.allocatable,
	}, true
}

// Pod returns how much a pod uses that is on a node, by its estimate where that is not measured, or
// is more than what is measured while that does not show all of it: what the pod adds to
// [Measurement.Expected]. A pod without a node, which is nil then, has its estimate.
func (m *Meter) Pod(pod *cluster.Pod, node *cluster.Node) []int64 {
	e := newEntry(len(m.load.resources.names))
	usage, allocatable := &cluster.Usage{}, vector(nil)
	if node != nil {
		allocatable = m.load.of(node).allocatable
	}
	if node != nil && node.Usage != nil {
		usage = node.Usage
	}
	m.load.enter(e, pod, usage, node, allocatable)
	if e.counted == shown {
		return e.used
	}
	for i, estimate := range e.estimate {
		e.used[i] = max(e.used[i], estimate)
	}
	return e.used
}
