package nodemetric

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/slo/v1alpha1"
)

// Where the Policy is written, by Koordinator's names.
const (
	ConfigMapName = "slo-controller-config"
	ConfigMapKey  = "colocation-config"
)

const mustBePositive = "must be greater than zero"

// mostWrong is of how many wrong entries it is said what is wrong.
const mostWrong = 20

// strategy says how usage is to be collected, as far as it does.
type strategy struct {
	AggregateDurationSeconds *int64                    `json:"metricAggregateDurationSeconds"`
	ReportIntervalSeconds    *int64                    `json:"metricReportIntervalSeconds"`
	AggregatePolicy          *v1alpha1.AggregatePolicy `json:"metricAggregatePolicy"`
}

// Policy says how usage is to be collected on each node.
type Policy struct {
	cluster strategy
	nodes   []nodeStrategy
}

// nodeStrategy is the difference that applies to the nodes of a selector.
type nodeStrategy struct {
	selector labels.Selector
	strategy strategy
}

// DefaultPolicy returns the policy of a cluster without a ConfigMap.
func DefaultPolicy() *Policy {
	var durations []metav1.Duration
	for _, d := range []time.Duration{5 * time.Minute, 10 * time.Minute, 30 * time.Minute} {
		durations = append(durations, metav1.Duration{Duration: d})
	}
	return &Policy{cluster: strategy{
		AggregateDurationSeconds: new(int64(300)),
		ReportIntervalSeconds:    new(int64(60)),
		AggregatePolicy:          &v1alpha1.AggregatePolicy{Durations: durations},
	}}
}

// ParsePolicy reads a policy, which is a JSON object. Nodes that a wrong entry of nodeConfigs
// selects have what the cluster has; wrong says what is wrong with such entries. The error is
// about all else: then there is no policy. Both name fields and values. Fields that are not
// about NodeMetrics, enable among them, do not matter.
func ParsePolicy(text string) (policy *Policy, wrong, err error) {
	var document struct {
		strategy
		NodeConfigs []json.RawMessage `json:"nodeConfigs"`
	}
	if err := bounded.Decode([]byte(text), &document); err != nil {
		return nil, nil, err
	}
	if errs := document.validate(nil); len(errs) > 0 {
		return nil, nil, shorten(errs.ToAggregate())
	}
	policy = DefaultPolicy()
	policy.cluster = policy.cluster.with(document.strategy)
	var all []error
	for i, text := range document.NodeConfigs {
		node, err := parseNodeStrategy(field.NewPath("nodeConfigs").Index(i), text)
		if err != nil && len(all) < mostWrong {
			all = append(all, shorten(err))
		}
		if node.selector != nil {
			policy.nodes = append(policy.nodes, node)
		}
	}
	return policy, errors.Join(all...), nil
}

// parseNodeStrategy returns with an error an entry that changes nothing, without a selector if the selector is
// wrong.
func parseNodeStrategy(path *field.Path, text []byte) (nodeStrategy, error) {
	var head struct {
		Name         string                `json:"name"`
		NodeSelector *metav1.LabelSelector `json:"nodeSelector"`
	}
	if err := bounded.Decode(text, &head); err != nil {
		return nodeStrategy{}, fmt.Errorf("%s: %w", path, err)
	}
	if head.Name != "" {
		path = path.Key(head.Name)
	}
	if head.NodeSelector == nil {
		return nodeStrategy{}, field.Required(path.Child("nodeSelector"), "")
	}
	selector, err := metav1.LabelSelectorAsSelector(head.NodeSelector)
	if err != nil {
		return nodeStrategy{}, fmt.Errorf("%s: %w", path.Child("nodeSelector"), err)
	}
	var s strategy
	if err := bounded.Decode(text, &s); err != nil {
		return nodeStrategy{selector: selector}, fmt.Errorf("%s: %w", path, err)
	}
	if errs := s.validate(path); len(errs) > 0 {
		return nodeStrategy{selector: selector}, errs.ToAggregate()
	}
	return nodeStrategy{selector, s}, nil
}

func (s strategy) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	positive := func(name string, value *int64) {
		if value != nil && *value <= 0 {
			errs = append(errs, field.Invalid(path.Child(name), *value, mustBePositive))
		}
	}
	positive("metricAggregateDurationSeconds", s.AggregateDurationSeconds)
	positive("metricReportIntervalSeconds", s.ReportIntervalSeconds)
	if s.AggregatePolicy != nil {
		for i, d := range s.AggregatePolicy.Durations {
			if d.Duration <= 0 {
				errs = append(errs, field.Invalid(path.Child("metricAggregatePolicy", "durations").Index(i), d, mustBePositive))
			}
		}
	}
	return errs
}

// with returns the strategy with what another one says over it.
func (s strategy) with(over strategy) strategy {
	if over.AggregateDurationSeconds != nil {
		s.AggregateDurationSeconds = over.AggregateDurationSeconds
	}
	if over.ReportIntervalSeconds != nil {
		s.ReportIntervalSeconds = over.ReportIntervalSeconds
	}
	if over.AggregatePolicy != nil {
		s.AggregatePolicy = over.AggregatePolicy
	}
	return s
}

// For returns the policy for a node with these labels: what the first of nodeConfigs that selects
// it says, over what the cluster says. It must not be changed.
func (p *Policy) For(node map[string]string) *v1alpha1.NodeMetricCollectPolicy {
	s := p.cluster
	for _, config := range p.nodes {
		if config.selector.Matches(labels.Set(node)) {
			s = s.with(config.strategy)
			break
		}
	}
	return &v1alpha1.NodeMetricCollectPolicy{
		AggregateDurationSeconds: s.AggregateDurationSeconds,
		ReportIntervalSeconds:    s.ReportIntervalSeconds,
		NodeAggregatePolicy:      s.AggregatePolicy,
	}
}
