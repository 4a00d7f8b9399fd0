package config

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/spelling"
)

// listed is a text that has one of a few values. Package strict names them where something else than a text is written.
type listed interface {
	~string
	Values() []string
}

func validateListed[T listed](path *field.Path, value T) field.ErrorList {
	return validateOneOf(path, string(value), value.Values()...)
}

func validateOneOf[T ~string](path *field.Path, value T, supported ...T) field.ErrorList {
	if slices.Contains(supported, value) {
		return nil
	}
	err := field.NotSupported(path, value, supported)
	err.Detail = spelling.DidYouMean(string(value), texts(supported...)) + err.Detail
	return field.ErrorList{err}
}

func texts[T ~string](values ...T) (all []string) {
	for _, value := range values {
		all = append(all, string(value))
	}
	return all
}

// Values returns what may be written.
func (NodeSelection) Values() []string {
	return texts(NodeSelectionScheduler, NodeSelectionMuster)
}

// Values returns what may be written.
func (Gates) Values() []string {
	return texts(GatesNever, GatesUntilMembers, GatesUntilPlace)
}

// Values returns what may be written.
func (Equivalence) Values() []string {
	return texts(EquivalenceControllerRef, EquivalenceTemplate)
}

// Values returns what may be written.
func (Evict) Values() []string {
	return texts(EvictWhole, EvictMembers, EvictNever)
}

// Values returns what may be written.
func (WhenShort) Values() []string {
	return texts(WhenShortFinish, WhenShortWait, WhenShortBreak)
}

// Values returns what may be written.
func (LoadSource) Values() []string {
	return texts(LoadSourceNone, LoadSourceNodeMetric, LoadSourceMetrics, LoadSourcePrometheus)
}

// Values returns what may be written.
func (PrometheusPercentiles) Values() []string {
	return texts(PercentilesOwn, PercentilesSubqueries)
}

// Values returns what may be written.
func (LogLevel) Values() []string {
	return texts(LogDebug, LogInfo, LogWarn, LogError)
}

// Values returns what may be written.
func (NodeMark) Values() []string {
	return texts(MarkNone, MarkAnnotate, MarkTaint, MarkCordon)
}

// Values returns what may be written.
func (ScoringStrategyType) Values() []string {
	return texts(LeastAllocated, MostAllocated, RequestedToCapacityRatio)
}

// Values returns what may be written.
func (AggregationType) Values() []string {
	return texts(AggregationAverage, AggregationP50, AggregationP90, AggregationP95, AggregationP99)
}

// Values returns what may be written.
func (PodTopologySpreadDefaulting) Values() []string {
	return texts(SystemDefaulting, ListDefaulting)
}

// Values returns what may be written.
func (GangKind) Values() []string { return texts(GangKinds()...) }
