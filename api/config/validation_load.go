package config

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (l NodeLoad) validate(path *field.Path, profiles []Profile) field.ErrorList {
	source := path.Child("source")
	errs := validateListed(source, l.Source)
	for i := range profiles {
		if l.Source == LoadSourceNone && profiles[i].runsLoadAware() {
			errs = append(errs, field.Invalid(source, l.Source, "profile "+profiles[i].SchedulerName+" runs LoadAware, which needs a source"))
		}
	}
	errs = append(errs, l.validateStatistics(source, profiles)...)
	errs = append(errs, validateInterval(path.Child("interval"), l.Interval)...)
	errs = append(errs, l.Prometheus.validate(path.Child("prometheus"), l.Source == LoadSourcePrometheus)...)
	errs = append(errs, l.NodeMetrics.validate(path.Child("nodeMetrics"))...)
	return errs
}

// validateStatistics checks that the source can have the statistics that LoadAware goes by.
func (l NodeLoad) validateStatistics(source *field.Path, profiles []Profile) (errs field.ErrorList) {
	if l.Source != LoadSourceMetrics && l.Source != LoadSourcePrometheus {
		return nil
	}
	for i := range profiles {
		if !profiles[i].runsLoadAware() {
			continue
		}
		for _, d := range profiles[i].LoadAwareSchedulingArgs().AggregatedDurations() {
			if d > LongestStatistic {
				errs = append(errs, field.Invalid(source, l.Source, fmt.Sprintf(
					"LoadAware of profile %s wants a statistic over %s (aggregated), and this source has none over more than %s",
					profiles[i].SchedulerName, d, LongestStatistic,
				)))
			}
		}
	}
	return errs
}

// validateInterval keeps what is remembered of half an hour within bounds.
func validateInterval(path *field.Path, d metav1.Duration) field.ErrorList {
	if d.Duration < time.Second {
		return field.ErrorList{field.Invalid(path, d, "must be at least 1s")}
	}
	return nil
}

func (p LoadPrometheus) validate(path *field.Path, used bool) field.ErrorList {
	errs := validateServer(path.Child("url"), p.URL, used)
	errs = append(errs, validateInterval(path.Child("window"), p.Window)...)
	errs = append(errs, validateListed(path.Child("percentiles"), p.Percentiles)...)

	node := path.Child("node")
	if asked := slices.DeleteFunc(slices.Collect(maps.Values(p.Node.Queries)), func(query string) bool { return query == "" }); len(
		asked,
	) == 0 {
		errs = append(errs, field.Required(node.Child("queries"), "at least one query"))
	}
	errs = append(errs, validateQueried(node.Child("queries"), p.Node.Queries)...)
	errs = append(errs, validatePressed(node.Child("pressure"), slices.Sorted(maps.Keys(p.Node.Pressure)))...)
	return append(errs, validateQueried(path.Child("pod", "queries"), p.Pod.Queries)...)
}

func validateServer(path *field.Path, address string, used bool) field.ErrorList {
	if address == "" {
		if used {
			return field.ErrorList{field.Required(path, "the address of the Prometheus that source names")}
		}
		return nil
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
		return field.ErrorList{field.Invalid(path, address, "must be a URL such as http://prometheus.monitoring.svc:9090")}
	}
	if parsed.User != nil { // it would be shown at /configz
		return field.ErrorList{field.Invalid(path, parsed.Redacted(), "must have no user and no password: use bearerTokenFile")}
	}
	return nil
}

func validateQueried(path *field.Path, queries map[corev1.ResourceName]string) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(queries)) {
		for _, message := range validation.IsQualifiedName(string(name)) {
			errs = append(errs, field.Invalid(path, name, message))
		}
	}
	return errs
}

// validatePressed is about the resources that processes may wait for.
func validatePressed(path *field.Path, names []corev1.ResourceName) (errs field.ErrorList) {
	for _, name := range names {
		errs = append(errs, validateOneOf(path.Key(string(name)), name, corev1.ResourceCPU, corev1.ResourceMemory)...)
	}
	return errs
}

func (n LoadNodeMetrics) validate(path *field.Path) (errs field.ErrorList) {
	for _, message := range validation.IsDNS1123Label(n.ConfigNamespace) {
		errs = append(errs, field.Invalid(path.Child("configNamespace"), n.ConfigNamespace, message))
	}
	return errs
}
