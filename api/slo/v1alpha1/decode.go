package v1alpha1

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/fields"
)

const (
	mustBeSeconds   = "must be an integer of at least 1"
	mustBeTime      = "must be a time such as 2006-01-02T15:04:05Z"
	mustBeDuration  = "must be a duration of at least 0, such as 5m"
	mustBeDurations = "must be durations greater than zero, such as 5m"
)

// Decode turns an object into a NodeMetric. The CRD may not be ours, so values are checked
// here as well. Fields and statistics that are not known are left out. The error is an
// Aggregate that names each field and its value.
func Decode(object *unstructured.Unstructured) (*NodeMetric, error) {
	var d decoder
	if version := (Group + "/" + Version); object.GetAPIVersion() != version {
		d.Add(field.NotSupported(field.NewPath("apiVersion"), object.GetAPIVersion(), []string{version}))
	} else if object.GetKind() != Kind {
		d.Add(field.NotSupported(field.NewPath("kind"), object.GetKind(), []string{Kind}))
	}
	if err := d.Err(); err != nil {
		return nil, err
	}
	metric := &NodeMetric{TypeMeta: metav1.TypeMeta{APIVersion: object.GetAPIVersion(), Kind: Kind}}
	d.Decode(field.NewPath("metadata"), object.Object["metadata"], &metric.ObjectMeta, "must be metadata of an object")
	metric.Spec = d.spec(field.NewPath("spec"), object.Object["spec"])
	metric.Status = d.status(field.NewPath("status"), object.Object["status"])
	if err := d.Err(); err != nil {
		return nil, err
	}
	return metric, nil
}

// decoder reads the parts of a NodeMetric.
type decoder struct{ fields.Decoder }

// seconds returns a positive number, which may be missing.
func (d *decoder) seconds(path *field.Path, value any) (seconds *int64) {
	if d.Decode(path, value, &seconds, mustBeSeconds) && *seconds < 1 {
		d.Wrong(path, *seconds, mustBeSeconds)
	}
	return seconds
}

func (d *decoder) spec(path *field.Path, value any) (spec NodeMetricSpec) {
	whole := d.Mapping(path, value)
	path = path.Child("metricCollectPolicy")
	values := d.Mapping(path, whole["metricCollectPolicy"])
	if values == nil {
		return spec
	}
	spec.CollectPolicy = &NodeMetricCollectPolicy{
		AggregateDurationSeconds: d.seconds(path.Child("aggregateDurationSeconds"), values["aggregateDurationSeconds"]),
		ReportIntervalSeconds:    d.seconds(path.Child("reportIntervalSeconds"), values["reportIntervalSeconds"]),
	}
	path = path.Child("nodeAggregatePolicy")
	if aggregates := d.Mapping(path, values["nodeAggregatePolicy"]); aggregates != nil {
		policy := &AggregatePolicy{}
		d.durations(path.Child("durations"), aggregates["durations"], &policy.Durations)
		spec.CollectPolicy.NodeAggregatePolicy = policy
	}
	return spec
}

func (d *decoder) durations(path *field.Path, value any, into *[]metav1.Duration) {
	if !d.Decode(path, value, into, mustBeDurations) {
		return
	}
	for i, duration := range *into {
		if duration.Duration <= 0 {
			d.Wrong(path.Index(i), duration, mustBeDurations)
		}
	}
}

func (d *decoder) status(path *field.Path, value any) (status NodeMetricStatus) {
	values := d.Mapping(path, value)
	d.Decode(path.Child("updateTime"), values["updateTime"], &status.UpdateTime, mustBeTime)
	at := path.Child("nodeMetric")
	if node := d.Mapping(at, values["nodeMetric"]); node != nil {
		status.NodeMetric = &NodeMetricInfo{
			NodeUsage:            d.resourceMap(at.Child("nodeUsage"), node["nodeUsage"]),
			AggregatedNodeUsages: d.aggregated(at.Child("aggregatedNodeUsages"), node["aggregatedNodeUsages"]),
			SystemUsage:          d.resourceMap(at.Child("systemUsage"), node["systemUsage"]),
		}
	}
	at = path.Child("podsMetric")
	for i, value := range d.List(at, values["podsMetric"]) {
		pod := d.Mapping(at.Index(i), value)
		status.PodsMetric = append(status.PodsMetric, PodMetricInfo{
			Name:      d.Text(at.Index(i).Child("name"), pod["name"]),
			Namespace: d.Text(at.Index(i).Child("namespace"), pod["namespace"]),
			PodUsage:  d.resourceMap(at.Index(i).Child("podUsage"), pod["podUsage"]),
			Priority:  d.Text(at.Index(i).Child("priority"), pod["priority"]),
			QoS:       d.Text(at.Index(i).Child("qos"), pod["qos"]),
		})
	}
	return status
}

func (d *decoder) aggregated(path *field.Path, value any) (all []AggregatedUsage) {
	for i, value := range d.List(path, value) {
		at := path.Index(i)
		values := d.Mapping(at, value)
		var over AggregatedUsage
		d.Decode(at.Child("duration"), values["duration"], &over.Duration, mustBeDuration)
		if over.Duration.Duration < 0 {
			d.Wrong(at.Child("duration"), over.Duration, mustBeDuration)
		}
		usage := d.Mapping(at.Child("usage"), values["usage"])
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

// resourceMap reads amounts. One below zero is for others to refuse: the rest of the object may be right.
func (d *decoder) resourceMap(path *field.Path, value any) (amounts ResourceMap) {
	whole := d.Mapping(path, value)
	path = path.Child("resources")
	values := d.Mapping(path, whole["resources"])
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if amounts.Resources == nil {
			amounts.Resources = make(corev1.ResourceList, len(values))
		}
		amounts.Resources[corev1.ResourceName(name)] = d.Signed(path.Key(fields.Brief(name)), values[name])
	}
	return amounts
}
