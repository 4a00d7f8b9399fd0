package v1alpha1

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/fields"
)

// SystemCritical is the priority of system-cluster-critical, the lowest that no user may have: what a cluster needs to work comes before
// what pods ask for themselves.
const SystemCritical = 2_000_000_000

// MostMinRuntime is the longest minimum runtime that counts. Users who may create pods write it: without a bound, one annotation
// would keep a pod on its node for good.
const MostMinRuntime = time.Hour

// DecodeDelays reads how long a group waits before room is booked, and before others are evicted for it, as [DecodePolicy] does. The error
// names the annotation and its value.
func DecodeDelays(annotations map[string]string) (reserve, preempt time.Duration, err error) {
	var errs field.ErrorList
	reserve, preempt = reserveAfter(&errs, annotations), duration(&errs, annotations, AnnotationPreemptAfter)
	return reserve, preempt, errs.ToAggregate()
}

// DecodeMinRuntime reads how long a pod runs before it is evicted for others, [MostMinRuntime] at most; it is 0 when the pod does not
// say. The error names the annotation and its value.
func DecodeMinRuntime(annotations map[string]string) (time.Duration, error) {
	var errs field.ErrorList
	runtime := duration(&errs, annotations, AnnotationMinRuntime)
	return min(runtime, MostMinRuntime), errs.ToAggregate()
}

// DecodeCheckpoint reads when a pod last saved its work; it is zero when the pod does not say. The error names the annotation and its
// value.
func DecodeCheckpoint(annotations map[string]string) (time.Time, error) {
	text, said := annotations[AnnotationCheckpointedAt]
	if !said {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		const must = `must be a time as RFC 3339 has it, such as "2026-11-30T12:00:00Z"`
		return time.Time{}, field.Invalid(annotation(AnnotationCheckpointedAt), fields.Brief(text), must)
	}
	return at, nil
}

// duration reads an annotation that is a duration of no less than 0; it is 0 when it is not there.
func duration(errs *field.ErrorList, annotations map[string]string, name string) time.Duration {
	text, said := annotations[name]
	if !said {
		return 0
	}
	read, err := time.ParseDuration(text)
	if err != nil || read < 0 {
		*errs = append(*errs, field.Invalid(annotation(name), fields.Brief(text), `must be a duration such as "5m", or "0s"`))
		return 0
	}
	return read
}
