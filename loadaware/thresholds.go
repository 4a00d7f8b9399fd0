package loadaware

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
)

// thresholds are how much of a node may be used, in percent, 0 for no threshold: those of
// the arguments, or those that an annotation of the node has in their place.
type thresholds struct {
	usage      vector
	aggregated vector    // nil when there are none
	statistic  statistic // that is held against aggregated
	prod       vector    // nil when there are none
}

// statistic is one of usage over some time.
type statistic struct {
	kind config.AggregationType // "" for none
	over time.Duration          // 0 for the longest that is reported
}

func newStatistic(kind config.AggregationType, over *metav1.Duration) statistic {
	s := statistic{kind: kind}
	if over != nil {
		s.over = over.Duration
	}
	return s
}

func newThresholds(args *config.LoadAwareSchedulingArgs, r *resources) thresholds {
	t := thresholds{usage: r.vector(args.UsageThresholds)}
	if len(args.ProdUsageThresholds) > 0 {
		t.prod = r.vector(args.ProdUsageThresholds)
	}
	if a := args.Aggregated; a != nil {
		t.aggregate(a.UsageThresholds, newStatistic(a.UsageAggregationType, a.UsageAggregatedDuration), r)
	}
	return t
}

// aggregate sets the thresholds of a statistic, if there are any and it is named.
func (t *thresholds) aggregate(amounts map[corev1.ResourceName]int64, s statistic, r *resources) {
	t.aggregated, t.statistic = nil, statistic{}
	if len(amounts) > 0 && s.kind != "" {
		t.aggregated, t.statistic = r.vector(amounts), s
	}
}

// CustomUsageThresholds are the thresholds of one node. A section that is there takes the
// place of the one of the arguments as a whole.
type CustomUsageThresholds struct {
	UsageThresholds     map[corev1.ResourceName]int64 `json:"usageThresholds,omitempty"`
	ProdUsageThresholds map[corev1.ResourceName]int64 `json:"prodUsageThresholds,omitempty"`
	AggregatedUsage     *CustomAggregatedUsage        `json:"aggregatedUsage,omitempty"`
}

// CustomAggregatedUsage are thresholds of a statistic. Without a type it turns those of the
// arguments off.
type CustomAggregatedUsage struct {
	UsageThresholds         map[corev1.ResourceName]int64 `json:"usageThresholds,omitempty"`
	UsageAggregationType    config.AggregationType        `json:"usageAggregationType,omitempty"`
	UsageAggregatedDuration *metav1.Duration              `json:"usageAggregatedDuration,omitempty"`
}

// validate checks them as arguments are checked. A resource that the profile does not
// look at is not valid.
func (c *CustomUsageThresholds) validate(r *resources) field.ErrorList {
	var errs field.ErrorList
	check := func(path *field.Path, amounts map[corev1.ResourceName]int64) {
		errs = append(errs, config.ValidateThresholds(path, amounts)...)
		for name := range amounts {
			if !slices.Contains(r.names, name) {
				errs = append(errs, field.Invalid(path, name, "this resource must be named in supportedResources"))
			}
		}
	}
	check(field.NewPath("usageThresholds"), c.UsageThresholds)
	check(field.NewPath("prodUsageThresholds"), c.ProdUsageThresholds)
	if a := c.AggregatedUsage; a != nil {
		path := field.NewPath("aggregatedUsage")
		check(path.Child("usageThresholds"), a.UsageThresholds)
		errs = append(errs, config.ValidateAggregation(path.Child("usageAggregationType"), a.UsageAggregationType)...)
		errs = append(errs, config.ValidateAggregatedDuration(path.Child("usageAggregatedDuration"), a.UsageAggregatedDuration)...)
	}
	return errs
}

// instead are the thresholds with those of a node in their place.
func (t thresholds) instead(c *CustomUsageThresholds, r *resources) thresholds {
	if len(c.UsageThresholds) > 0 {
		t.usage = r.vector(c.UsageThresholds)
	}
	if len(c.ProdUsageThresholds) > 0 {
		t.prod = r.vector(c.ProdUsageThresholds)
	}
	if a := c.AggregatedUsage; a != nil {
		t.aggregate(a.UsageThresholds, newStatistic(a.UsageAggregationType, a.UsageAggregatedDuration), r)
	}
	return t
}
