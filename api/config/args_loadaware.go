package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// LoadAwareSchedulingArgs are the arguments of LoadAware. They are spelled as Koordinator
// spells them. Percentages are 0 to 100.
type LoadAwareSchedulingArgs struct {
	metav1.TypeMeta `json:",inline"`

	// FilterExpiredNodeMetrics says what the filter makes of nodes whose figures are too old, or
	// never came. With true it refuses them, whether there are thresholds or not; with false it
	// holds the last figures against the thresholds, however old they are. Defaults to true.
	FilterExpiredNodeMetrics *bool `json:"filterExpiredNodeMetrics,omitempty"`
	// NodeMetricExpirationSeconds is the age from which on the figures of a node are not
	// believed any more. Defaults to 180.
	NodeMetricExpirationSeconds *int64 `json:"nodeMetricExpirationSeconds,omitempty"`
	// EnableScheduleWhenNodeMetricsExpired says that pods may go to nodes whose figures are
	// as old as that, unless filterExpiredNodeMetrics is false, so that nobody asks for their
	// age. Defaults to false.
	EnableScheduleWhenNodeMetricsExpired *bool `json:"enableScheduleWhenNodeMetricsExpired,omitempty"`
	// ResourceWeights are the weights of resources in the score, 1 to 100. Defaults to 1 for
	// cpu and memory, unless there is a dominantResourceWeight.
	ResourceWeights map[corev1.ResourceName]int64 `json:"resourceWeights,omitempty"`
	// DominantResourceWeight is the weight in the score of the resource that a node has least
	// left of in proportion, 0 to 100. Defaults to 0.
	DominantResourceWeight int64 `json:"dominantResourceWeight,omitempty"`
	// UsageThresholds are how much of a node may be used, in percent. A pod goes to no node that
	// would reach one; 0 is no threshold. Defaults to 65 for cpu and 95 for memory.
	UsageThresholds map[corev1.ResourceName]int64 `json:"usageThresholds,omitempty"`
	// ProdUsageThresholds are how much of a node pods of the class prod may use together, in
	// percent. For those pods they take the place of all other thresholds.
	ProdUsageThresholds map[corev1.ResourceName]int64 `json:"prodUsageThresholds,omitempty"`
	// ProdUsageIncludeSys says that what the node uses beside its pods counts as used by
	// pods of the class prod. Defaults to false.
	ProdUsageIncludeSys bool `json:"prodUsageIncludeSys,omitempty"`
	// ScoreAccordingProdUsage says that a node is scored for pods of the class prod by what
	// such pods use of it. Defaults to false.
	ScoreAccordingProdUsage *bool `json:"scoreAccordingProdUsage,omitempty"`
	// EstimatedScalingFactors are how much of what a pod asks for it is taken to use, in percent,
	// 1 to 100. Resources without a factor are not estimated. Defaults to 85 for cpu and 70
	// for memory.
	EstimatedScalingFactors map[corev1.ResourceName]int64 `json:"estimatedScalingFactors,omitempty"`
	// EstimatedSecondsAfterPodScheduled is how long after it was scheduled a pod is taken
	// to use no less than estimated. Defaults to 0.
	EstimatedSecondsAfterPodScheduled *int64 `json:"estimatedSecondsAfterPodScheduled,omitempty"`
	// EstimatedSecondsAfterInitialized is the same after its init containers have ended. It
	// goes before the other one once they have. Defaults to 0.
	EstimatedSecondsAfterInitialized *int64 `json:"estimatedSecondsAfterInitialized,omitempty"`
	// AllowCustomizeEstimation says that annotations of a pod may say how it is estimated.
	// Defaults to false.
	AllowCustomizeEstimation bool `json:"allowCustomizeEstimation,omitempty"`
	// Aggregated has nodes filtered and scored by statistics of their usage.
	Aggregated *LoadAwareSchedulingAggregatedArgs `json:"aggregated,omitempty"`
	// SupportedResources are resources beside cpu, memory and the ones named above. Annotations of
	// nodes may set thresholds for them.
	SupportedResources []corev1.ResourceName `json:"supportedResources,omitempty"`
}

// LoadAwareSchedulingAggregatedArgs have nodes filtered and scored by statistics of their
// usage over some time.
type LoadAwareSchedulingAggregatedArgs struct {
	// UsageThresholds are how much of a node may be used, in percent. With a
	// usageAggregationType they take the place of the thresholds without statistics.
	UsageThresholds map[corev1.ResourceName]int64 `json:"usageThresholds,omitempty"`
	// UsageAggregationType is the statistic that is held against the thresholds: avg, p50,
	// p90, p95 or p99.
	UsageAggregationType AggregationType `json:"usageAggregationType,omitempty"`
	// UsageAggregatedDuration is the time that it is taken over. Defaults to the longest
	// that is reported.
	UsageAggregatedDuration *metav1.Duration `json:"usageAggregatedDuration,omitempty"`
	// ScoreAggregationType is the statistic by which nodes are scored. Defaults to none.
	ScoreAggregationType AggregationType `json:"scoreAggregationType,omitempty"`
	// ScoreAggregatedDuration is the time that it is taken over. Defaults to the longest
	// that is reported.
	ScoreAggregatedDuration *metav1.Duration `json:"scoreAggregatedDuration,omitempty"`
}

// AggregatedDurations are the times that statistics are wanted over, without the longest that is reported.
func (a *LoadAwareSchedulingArgs) AggregatedDurations() (over []time.Duration) {
	if a.Aggregated == nil {
		return nil
	}
	for _, d := range []*metav1.Duration{a.Aggregated.UsageAggregatedDuration, a.Aggregated.ScoreAggregatedDuration} {
		if d != nil && d.Duration > 0 {
			over = append(over, d.Duration)
		}
	}
	return over
}

// AggregationType is a statistic of usage over some time.
type AggregationType string

const (
	// AggregationAverage is the mean.
	AggregationAverage AggregationType = "avg"
	// AggregationP50 is the median.
	AggregationP50 AggregationType = "p50"
	// AggregationP90 is the 90th percentile.
	AggregationP90 AggregationType = "p90"
	// AggregationP95 is the 95th percentile.
	AggregationP95 AggregationType = "p95"
	// AggregationP99 is the 99th percentile.
	AggregationP99 AggregationType = "p99"
)

// mostLoadWeight is the largest weight of a resource in the score of LoadAware, and of the
// dominant one.
const mostLoadWeight = 100

// LoadAwareSchedulingArgs returns the profile's arguments of LoadAware.
func (p *Profile) LoadAwareSchedulingArgs() *LoadAwareSchedulingArgs {
	return argsOf[LoadAwareSchedulingArgs](p)
}

// DefaultLoadAwareSchedulingArgs returns the arguments of a profile that gives none.
func DefaultLoadAwareSchedulingArgs() *LoadAwareSchedulingArgs {
	args := &LoadAwareSchedulingArgs{}
	args.setDefaults()
	return args
}

func (a *LoadAwareSchedulingArgs) setDefaults() {
	a.FilterExpiredNodeMetrics = orDefault(a.FilterExpiredNodeMetrics, true)
	a.NodeMetricExpirationSeconds = orDefault(a.NodeMetricExpirationSeconds, 180)
	a.EnableScheduleWhenNodeMetricsExpired = orDefault(a.EnableScheduleWhenNodeMetricsExpired, false)
	a.ScoreAccordingProdUsage = orDefault(a.ScoreAccordingProdUsage, false)
	a.EstimatedSecondsAfterPodScheduled = orDefault(a.EstimatedSecondsAfterPodScheduled, 0)
	a.EstimatedSecondsAfterInitialized = orDefault(a.EstimatedSecondsAfterInitialized, 0)
	if len(a.ResourceWeights) == 0 && a.DominantResourceWeight == 0 {
		a.ResourceWeights = map[corev1.ResourceName]int64{corev1.ResourceCPU: 1, corev1.ResourceMemory: 1}
	}
	if len(a.UsageThresholds) == 0 {
		a.UsageThresholds = map[corev1.ResourceName]int64{corev1.ResourceCPU: 65, corev1.ResourceMemory: 95}
	}
	factors := map[corev1.ResourceName]int64{corev1.ResourceCPU: 85, corev1.ResourceMemory: 70}
	maps.Copy(factors, a.EstimatedScalingFactors)
	a.EstimatedScalingFactors = factors
}

func orDefault[T any](value *T, other T) *T {
	return cmp.Or(value, &other)
}

func (a *LoadAwareSchedulingArgs) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if seconds := *a.NodeMetricExpirationSeconds; seconds <= 0 {
		errs = append(errs, field.Invalid(path.Child("nodeMetricExpirationSeconds"), seconds, "must be greater than zero"))
	}
	weights := path.Child("resourceWeights")
	errs = append(errs, validateAmounts(weights, a.ResourceWeights, 1, mostLoadWeight)...)
	for _, name := range slices.Sorted(maps.Keys(a.ResourceWeights)) {
		if _, estimated := a.EstimatedScalingFactors[name]; !estimated {
			errs = append(
				errs,
				field.Invalid(
					weights.Key(string(name)), a.ResourceWeights[name], "a resource with a weight must have a factor in estimatedScalingFactors",
				),
			)
		}
	}
	if weight := a.DominantResourceWeight; weight < 0 || weight > mostLoadWeight {
		errs = append(errs, field.Invalid(path.Child("dominantResourceWeight"), weight, amountRange(0, mostLoadWeight)))
	}
	errs = append(errs, ValidateThresholds(path.Child("usageThresholds"), a.UsageThresholds)...)
	errs = append(errs, ValidateThresholds(path.Child("prodUsageThresholds"), a.ProdUsageThresholds)...)
	errs = append(errs, validateAmounts(path.Child("estimatedScalingFactors"), a.EstimatedScalingFactors, 1, 100)...)
	errs = append(errs, validateSeconds(path.Child("estimatedSecondsAfterPodScheduled"), *a.EstimatedSecondsAfterPodScheduled)...)
	errs = append(errs, validateSeconds(path.Child("estimatedSecondsAfterInitialized"), *a.EstimatedSecondsAfterInitialized)...)
	if a.Aggregated != nil {
		errs = append(errs, a.Aggregated.validate(path.Child("aggregated"))...)
	}
	seen := map[corev1.ResourceName]bool{}
	for i, name := range a.SupportedResources {
		at := path.Child("supportedResources").Index(i)
		errs = append(errs, metav1validation.ValidateLabelName(string(name), at)...)
		if seen[name] {
			errs = append(errs, field.Duplicate(at, name))
		}
		seen[name] = true
	}
	return errs
}

func (a *LoadAwareSchedulingAggregatedArgs) validate(path *field.Path) field.ErrorList {
	errs := ValidateThresholds(path.Child("usageThresholds"), a.UsageThresholds)
	errs = append(errs, ValidateAggregation(path.Child("usageAggregationType"), a.UsageAggregationType)...)
	errs = append(errs, ValidateAggregatedDuration(path.Child("usageAggregatedDuration"), a.UsageAggregatedDuration)...)
	errs = append(errs, ValidateAggregation(path.Child("scoreAggregationType"), a.ScoreAggregationType)...)
	return append(errs, ValidateAggregatedDuration(path.Child("scoreAggregatedDuration"), a.ScoreAggregatedDuration)...)
}

// ValidateThresholds checks thresholds of usage.
func ValidateThresholds(path *field.Path, thresholds map[corev1.ResourceName]int64) field.ErrorList {
	return validateAmounts(path, thresholds, 0, 100)
}

// ValidateThreshold checks one of them.
func ValidateThreshold(path *field.Path, threshold int64) field.ErrorList {
	return validateAmount(path, threshold, 0, 100)
}

// ValidateAggregation checks a statistic, which may be left out.
func ValidateAggregation(path *field.Path, aggregation AggregationType) field.ErrorList {
	if aggregation == "" {
		return nil
	}
	return validateListed(path, aggregation)
}

// ValidateAggregatedDuration checks what time a statistic is over, which may be left out.
func ValidateAggregatedDuration(path *field.Path, duration *metav1.Duration) field.ErrorList {
	if duration == nil || duration.Duration >= 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, duration.Duration.String(), "must not be negative")}
}

func validateAmounts(path *field.Path, amounts map[corev1.ResourceName]int64, least, most int64) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		at := path.Key(string(name))
		errs = append(errs, metav1validation.ValidateLabelName(string(name), at)...)
		errs = append(errs, validateAmount(at, amounts[name], least, most)...)
	}
	return errs
}

func validateAmount(path *field.Path, amount, least, most int64) field.ErrorList {
	if amount < least || amount > most {
		return field.ErrorList{field.Invalid(path, amount, amountRange(least, most))}
	}
	return nil
}

func amountRange(least, most int64) string {
	return fmt.Sprintf("must be between %d and %d", least, most)
}

func validateSeconds(path *field.Path, seconds int64) field.ErrorList {
	if seconds < 0 {
		return field.ErrorList{field.Invalid(path, seconds, "must not be negative")}
	}
	return nil
}
