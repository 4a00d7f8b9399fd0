package loadaware

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
)

// thresholds are the limits on the use of a node, in percent, 0 for no threshold: the arguments' or, in their
// place, the thresholds in an annotation of the node.
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
