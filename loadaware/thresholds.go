package loadaware

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/bounded"
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

// mostWrong bounds how many mistakes of an annotation are told.
const mostWrong = 20

// ownThresholds reads the annotation of a node. Its sections have the form of the arguments' sections, and each
// replaces a whole section of the arguments. An invalid entry is void: its resource has the threshold of the
// arguments, and the other entries count. A section is void, too, if its form, statistic or time is not valid,
// or if it has no valid entry.
type ownThresholds struct {
	resources *resources
	errs      field.ErrorList
}

// read returns the thresholds with the annotation's thresholds in their place, and what is void.
func (o *ownThresholds) read(text string, instead thresholds) (thresholds, error) {
	var sections struct {
		Usage      json.RawMessage `json:"usageThresholds"`
		Prod       json.RawMessage `json:"prodUsageThresholds"`
		Aggregated json.RawMessage `json:"aggregatedUsage"`
	}
	if err := read(text, &sections); err != nil {
		return instead, err
	}
	if v := o.section(field.NewPath("usageThresholds"), sections.Usage, instead.usage); v != nil {
		instead.usage = v
	}
	if v := o.section(field.NewPath("prodUsageThresholds"), sections.Prod, instead.prod); v != nil {
		instead.prod = v
	}
	o.aggregated(field.NewPath("aggregatedUsage"), sections.Aggregated, &instead)
	return instead, o.errs[:min(len(o.errs), mostWrong)].ToAggregate()
}

// section is nil for one that is not there, is empty or is void.
func (o *ownThresholds) section(path *field.Path, text json.RawMessage, instead vector) vector {
	entries := map[corev1.ResourceName]json.RawMessage{}
	if !o.decode(path, text, &entries) {
		return nil
	}
	v, valid := make(vector, len(o.resources.names)), false
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		at, threshold := slices.Index(o.resources.names, name), int64(0)
		switch entry := path.Key(cut(string(name))); {
		case at < 0:
			o.wrong(entry, string(entries[name]), "this resource must be named in supportedResources")
		case o.threshold(entry, entries[name], &threshold):
			v[at], valid = threshold, true
		case instead != nil:
			v[at] = instead[at]
		}
	}
	if !valid {
		return nil
	}
	return v
}

// threshold reports whether an entry is valid.
func (o *ownThresholds) threshold(path *field.Path, text json.RawMessage, into *int64) bool {
	if !o.decode(path, text, into) {
		return false
	}
	errs := config.ValidateThreshold(path, *into)
	o.errs = append(o.errs, errs...)
	return len(errs) == 0
}

// aggregated reads the section of a statistic. One that is there without a type turns that of the arguments off.
func (o *ownThresholds) aggregated(path *field.Path, text json.RawMessage, instead *thresholds) {
	var section *struct {
		Usage    json.RawMessage        `json:"usageThresholds"`
		Type     config.AggregationType `json:"usageAggregationType"`
		Duration *metav1.Duration       `json:"usageAggregatedDuration"`
	}
	if !o.decode(path, text, &section) || section == nil {
		return
	}
	errs := config.ValidateAggregation(path.Child("usageAggregationType"), config.AggregationType(cut(string(section.Type))))
	errs = append(errs, config.ValidateAggregatedDuration(path.Child("usageAggregatedDuration"), section.Duration)...)
	if o.errs = append(o.errs, errs...); len(errs) > 0 {
		return
	}
	wrong := len(o.errs)
	v := o.section(path.Child("usageThresholds"), section.Usage, instead.aggregated)
	if v == nil && len(o.errs) > wrong {
		return
	}
	instead.aggregated, instead.statistic = nil, statistic{}
	if v != nil && section.Type != "" {
		instead.aggregated, instead.statistic = v, newStatistic(section.Type, section.Duration)
	}
}

// decode reports whether a value is there and has the form of what into points to.
func (o *ownThresholds) decode(path *field.Path, text json.RawMessage, into any) bool {
	if len(text) == 0 {
		return false
	}
	err := bounded.Decode(text, into)
	if err != nil {
		o.wrong(path, string(text), err.Error())
	}
	return err == nil
}

func (o *ownThresholds) wrong(path *field.Path, value, detail string) {
	o.errs = append(o.errs, field.Invalid(path, cut(value), detail))
}

// cut cuts what an annotation says to what is told of it.
func cut(text string) string {
	const most = 64
	if len(text) > most {
		return text[:most] + " …"
	}
	return text
}
