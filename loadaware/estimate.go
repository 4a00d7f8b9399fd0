package loadaware

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Annotations of pods, which count where the arguments allow pods to say how they are estimated. Invalid
// annotations count as absent.
const (
	// AnnotationScalingFactors goes before estimatedScalingFactors, resource by resource: as in
	// {"cpu": 60}, in percent.
	AnnotationScalingFactors = "scheduling.koordinator.sh/load-estimated-scaling-factors"
	// AnnotationSecondsAfterPodScheduled goes before estimatedSecondsAfterPodScheduled.
	AnnotationSecondsAfterPodScheduled = "scheduling.koordinator.sh/load-estimated-seconds-after-pod-scheduled"
	// AnnotationSecondsAfterInitialized goes before estimatedSecondsAfterInitialized.
	AnnotationSecondsAfterInitialized = "scheduling.koordinator.sh/load-estimated-seconds-after-initialized"
)

// The assumed use of a pod that asks for nothing.
const (
	defaultMilliCPU = 250
	defaultMemory   = 200 << 20
)

// estimator says what pods will use.
type estimator struct {
	resources *resources
	factors   vector // 0 for a resource that is not estimated
	defaults  vector // of pods that ask for nothing
	// after is for how long an estimate goes before what is measured.
	afterScheduled, afterInitialized int64 // seconds
	// custom says that annotations may say otherwise.
	custom bool
}

func newEstimator(args *config.LoadAwareSchedulingArgs, r *resources) estimator {
	return estimator{
		resources:        r,
		factors:          r.vector(args.EstimatedScalingFactors),
		defaults:         r.vector(map[corev1.ResourceName]int64{corev1.ResourceCPU: defaultMilliCPU, corev1.ResourceMemory: defaultMemory}),
		afterScheduled:   *args.EstimatedSecondsAfterPodScheduled,
		afterInitialized: *args.EstimatedSecondsAfterInitialized,
		custom:           args.AllowCustomizeEstimation,
	}
}

// estimate sets v to what a pod of a class will use: of each resource that has a factor, that
// part of what it asks for or may use, whichever is more.
//
// A limit bounds the estimate, which it can do only if the factor is the pod's own and above 100.
// If only some containers have a limit, the sum of the limits may be below the requests. It
// bounds nothing then.
func (e *estimator) estimate(v vector, pod *cluster.Pod, class priorityClass) {
	factors := e.factorsOf(pod)
	for i, place := range e.resources.at[class] {
		request, limit := clamped(place.of(&pod.Requests)), clamped(place.of(&pod.Limits))
		switch asked := max(request, limit); {
		case factors[i] == 0:
			v[i] = 0
		case asked == 0:
			v[i] = e.defaults[i]
		default:
			v[i] = percent(factors[i], asked)
			if limit > 0 && limit >= request {
				v[i] = min(v[i], limit)
			}
		}
	}
}

// requested sets v to the part of an estimate that goes by requests: nothing of what is not requested, and
// no more than is.
func (e *estimator) requested(v vector, pod *cluster.Pod, class priorityClass) {
	factors := e.factorsOf(pod)
	for i, place := range e.resources.at[class] {
		v[i] = percent(min(factors[i], 100), clamped(place.of(&pod.Requests)))
	}
}

// factorsOf returns the factors of the arguments, replaced entry by entry by the factors of the pod's
// annotation. An invalid entry leaves the factor of the arguments.
func (e *estimator) factorsOf(pod *cluster.Pod) vector {
	text := e.annotation(pod, AnnotationScalingFactors)
	if text == "" {
		return e.factors
	}
	var own map[corev1.ResourceName]json.RawMessage
	if err := read(text, &own); err != nil {
		return e.factors
	}
	factors := slices.Clone(e.factors)
	for i, name := range e.resources.names {
		if factor := int64(-1); own[name] != nil && bounded.Decode(own[name], &factor) == nil && factor >= 0 {
			factors[i] = factor
		}
	}
	return factors
}

// annotation is "" where annotations do not count.
func (e *estimator) annotation(pod *cluster.Pod, key string) string {
	if !e.custom {
		return ""
	}
	return pod.Annotations[key]
}

// mostOfAPod is the longest that a pod may ask for, in seconds: for as long as its estimate counts, nobody looks at what
// it uses.
const mostOfAPod = int64(24 * time.Hour / time.Second)

// seconds returns the time in an annotation of the pod, or the time of the arguments.
func (e *estimator) seconds(pod *cluster.Pod, key string, otherwise int64) int64 {
	if text := e.annotation(pod, key); text != "" {
		if seconds, err := strconv.ParseInt(text, 10, 64); err == nil && seconds >= 0 {
			return min(seconds, mostOfAPod)
		}
	}
	return otherwise
}

// deadline returns until when the estimate of a pod on a node goes before what is measured,
// zero when it does not.
func (e *estimator) deadline(pod *cluster.Pod, scheduled time.Time) time.Time {
	if after := e.seconds(pod, AnnotationSecondsAfterInitialized, e.afterInitialized); after > 0 {
		if initialized, is := pod.True(corev1.PodInitialized); is {
			return initialized.Add(inSeconds(after))
		}
	}
	if after := e.seconds(pod, AnnotationSecondsAfterPodScheduled, e.afterScheduled); after > 0 {
		return scheduled.Add(inSeconds(after))
	}
	return time.Time{}
}

// inSeconds is so long, or as long as a time.Duration can be.
func inSeconds(seconds int64) time.Duration {
	return time.Duration(min(seconds, int64(math.MaxInt64/time.Second))) * time.Second
}

// scheduled returns when a pod on a node was scheduled. It says false for a pod that is only
// supposed to be there: it is not scheduled yet.
func scheduled(pod *cluster.Pod) (time.Time, bool) {
	if since, is := pod.True(corev1.PodScheduled); is {
		return since, true
	}
	return pod.Assigned, !pod.Assigned.IsZero()
}
