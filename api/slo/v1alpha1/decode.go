package v1alpha1

import (
	"encoding/json"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	mustBeSeconds   = "must be an integer of at least 1"
	mustBeTime      = "must be a time such as 2006-01-02T15:04:05Z"
	mustBeDuration  = "must be a duration of at least 0, such as 5m"
	mustBeDurations = "must be durations greater than zero, such as 5m"
	mustBeQuantity  = "must be a quantity of at least 0, such as 500m or 2Gi"
	mustBeText      = "must be text"
)

// Decode turns an object into a NodeMetric. The CRD may not be ours, so values are checked
// here as well. Fields and statistics that are not known are left out. The error is an
// Aggregate that names each field and its value.
func Decode(object *unstructured.Unstructured) (*NodeMetric, error) {
	var d decoder
	if version := (Group + "/" + Version); object.GetAPIVersion() != version {
		d.errs = append(d.errs, field.NotSupported(field.NewPath("apiVersion"), object.GetAPIVersion(), []string{version}))
	} else if object.GetKind() != Kind {
		d.errs = append(d.errs, field.NotSupported(field.NewPath("kind"), object.GetKind(), []string{Kind}))
	}
	if len(d.errs) > 0 {
		return nil, d.errs.ToAggregate()
	}
	metric := &NodeMetric{TypeMeta: metav1.TypeMeta{APIVersion: object.GetAPIVersion(), Kind: Kind}}
	d.decode(field.NewPath("metadata"), object.Object["metadata"], &metric.ObjectMeta, "must be metadata of an object")
	metric.Spec = d.spec(field.NewPath("spec"), object.Object["spec"])
	metric.Status = d.status(field.NewPath("status"), object.Object["status"])
	if len(d.errs) > 0 {
		return nil, d.errs.ToAggregate()
	}
	return metric, nil
}

// decoder collects what is wrong.
type decoder struct{ errs field.ErrorList }

// decode decodes a value into what into points to. It returns false when it is missing, or
// is not what is wanted.
func (d *decoder) decode(path *field.Path, value any, into any, want string) bool {
	if value == nil {
		return false
	}
	data, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		d.errs = append(d.errs, field.Invalid(path, value, want))
	}
	return err == nil
}

// mapping returns the fields of an object, which may be missing.
func (d *decoder) mapping(path *field.Path, value any) map[string]any {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		d.errs = append(d.errs, field.Invalid(path, value, "must be a mapping"))
	}
	return fields
}

// list returns the elements of a list, which may be missing.
func (d *decoder) list(path *field.Path, value any) []any {
	elements, ok := value.([]any)
	if !ok && value != nil {
		d.errs = append(d.errs, field.Invalid(path, value, "must be a list"))
	}
	return elements
}

// text returns a string, which may be missing.
func (d *decoder) text(path *field.Path, value any) string {
	text, ok := value.(string)
	if !ok && value != nil {
		d.errs = append(d.errs, field.Invalid(path, value, mustBeText))
	}
	return text
}

// seconds returns a positive number, which may be missing.
func (d *decoder) seconds(path *field.Path, value any) (seconds *int64) {
	if d.decode(path, value, &seconds, mustBeSeconds) && *seconds < 1 {
		d.errs = append(d.errs, field.Invalid(path, *seconds, mustBeSeconds))
	}
	return seconds
}

func (d *decoder) spec(path *field.Path, value any) (spec NodeMetricSpec) {
	whole := d.mapping(path, value)
	path = path.Child("metricCollectPolicy")
	fields := d.mapping(path, whole["metricCollectPolicy"])
	if fields == nil {
		return spec
	}
	spec.CollectPolicy = &NodeMetricCollectPolicy{
		AggregateDurationSeconds: d.seconds(path.Child("aggregateDurationSeconds"), fields["aggregateDurationSeconds"]),
		ReportIntervalSeconds:    d.seconds(path.Child("reportIntervalSeconds"), fields["reportIntervalSeconds"]),
	}
	path = path.Child("nodeAggregatePolicy")
	if aggregates := d.mapping(path, fields["nodeAggregatePolicy"]); aggregates != nil {
		policy := &AggregatePolicy{}
		d.durations(path.Child("durations"), aggregates["durations"], &policy.Durations)
		spec.CollectPolicy.NodeAggregatePolicy = policy
	}
	return spec
}

func (d *decoder) durations(path *field.Path, value any, into *[]metav1.Duration) {
	if !d.decode(path, value, into, mustBeDurations) {
		return
	}
	for i, duration := range *into {
		if duration.Duration <= 0 {
			d.errs = append(d.errs, field.Invalid(path.Index(i), duration, mustBeDurations))
		}
	}
}

func (d *decoder) status(path *field.Path, value any) (status NodeMetricStatus) {
	fields := d.mapping(path, value)
	d.decode(path.Child("updateTime"), fields["updateTime"], &status.UpdateTime, mustBeTime)
	at := path.Child("nodeMetric")
	if node := d.mapping(at, fields["nodeMetric"]); node != nil {
		status.NodeMetric = &NodeMetricInfo{
			NodeUsage:            d.resourceMap(at.Child("nodeUsage"), node["nodeUsage"]),
			AggregatedNodeUsages: d.aggregated(at.Child("aggregatedNodeUsages"), node["aggregatedNodeUsages"]),
			SystemUsage:          d.resourceMap(at.Child("systemUsage"), node["systemUsage"]),
		}
	}
	at = path.Child("podsMetric")
	for i, value := range d.list(at, fields["podsMetric"]) {
		pod := d.mapping(at.Index(i), value)
		status.PodsMetric = append(status.PodsMetric, PodMetricInfo{
			Name:      d.text(at.Index(i).Child("name"), pod["name"]),
			Namespace: d.text(at.Index(i).Child("namespace"), pod["namespace"]),
			PodUsage:  d.resourceMap(at.Index(i).Child("podUsage"), pod["podUsage"]),
			Priority:  d.text(at.Index(i).Child("priority"), pod["priority"]),
			QoS:       d.text(at.Index(i).Child("qos"), pod["qos"]),
		})
	}
	return status
}

func (d *decoder) aggregated(path *field.Path, value any) (all []AggregatedUsage) {
	for i, value := range d.list(path, value) {
		at := path.Index(i)
		fields := d.mapping(at, value)
		var over AggregatedUsage
		d.decode(at.Child("duration"), fields["duration"], &over.Duration, mustBeDuration)
		if over.Duration.Duration < 0 {
			d.errs = append(d.errs, field.Invalid(at.Child("duration"), over.Duration, mustBeDuration))
		}
		usage := d.mapping(at.Child("usage"), fields["usage"])
		for _, statistic := range []AggregationType{Average, P50, P90, P95, P99} {
			if value, reported := usage[string(statistic)]; reported {
				if over.Usage == nil {
					over.Usage = map[AggregationType]ResourceMap{}
				}
				over.Usage[statistic] = d.resourceMap(at.Child("usage").Key(string(statistic)), value)
			}
		}
		all = append(all, over)
	}
	return all
}

func (d *decoder) resourceMap(path *field.Path, value any) (amounts ResourceMap) {
	whole := d.mapping(path, value)
	path = path.Child("resources")
	fields := d.mapping(path, whole["resources"])
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if amounts.Resources == nil {
			amounts.Resources = make(corev1.ResourceList, len(fields))
		}
		amounts.Resources[corev1.ResourceName(name)] = d.quantity(path.Key(name), fields[name])
	}
	return amounts
}

// quantity is decoded without a detour over JSON, as most of a NodeMetric is quantities.
func (d *decoder) quantity(path *field.Path, value any) (quantity resource.Quantity) {
	if text, ok := value.(string); ok {
		var err error
		if quantity, err = resource.ParseQuantity(text); err != nil {
			d.errs = append(d.errs, field.Invalid(path, value, mustBeQuantity))
		}
	} else {
		d.decode(path, value, &quantity, mustBeQuantity)
	}
	if quantity.Sign() < 0 {
		d.errs = append(d.errs, field.Invalid(path, value, mustBeQuantity))
	}
	return quantity
}
