package runtimes

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

const (
	// leastKnown is of how many former pods the runtimes are needed to expect one of the next.
	leastKnown = 3
	// mostKept is how many former pods of a source are kept, the ones that ended last.
	mostKept = 32
	// mostSources is how many sources of a namespace are kept, and mostNamespaces of how many namespaces: the ones that were used last.
	mostSources    = 66
	mostNamespaces = 1024
	// together is within what time pods of one owner start or end that count as one: the members of a gang are no proof of each other.
	together = time.Minute
)

// History is how long former pods ran that have succeeded: by their workloads, and by how far the pods of a namespace were off that said
// how long they run. It is bounded for each namespace, so a tenant pushes nothing of others out of it. It is safe for concurrent use.
type History struct {
	outcomes *prometheus.CounterVec

	mu sync.Mutex
	of *lru.Cache // of the names of namespaces: *lru.Cache of sources: []former, by their ends
}

// former is a former pod, or several of one owner that ended together.
type former struct {
	owner types.UID
	ended time.Time
	value float64 // the longest runtime, in the unit of its source
}

// NewHistory returns a History that has seen no pod.
func NewHistory(registerer prometheus.Registerer) *History {
	h := &History{
		of: lru.New(mostNamespaces),
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_learned_runtimes_total",
			Help: "Pods that have succeeded and whose runtime was expected by former pods, by whether they ran for longer than it was " +
				"expected of nine in ten.",
		}, []string{"result"}),
	}
	registerer.MustRegister(h.outcomes)
	return h
}

// source names the former pods by which the runtime of a pod is expected. A workload has the pods of a namespace with one kind of
// controller and one stem of their names. Without a stem, a source has all pods of a namespace that said how long they run in one way,
// which is the kind then.
type source struct{ namespace, kind, stem string }

// The kinds of sources without a stem.
const (
	byDeadline   = "spec.activeDeadlineSeconds"
	byAnnotation = v1alpha1.AnnotationExpectedRuntime
)

// sourceOf returns the source for a pod, and the unit of its values: what the pod says, or a second.
func sourceOf(pod *corev1.Pod) (of source, unit time.Duration) {
	if runtime, by := said(pod); by != "" {
		return source{namespace: pod.Namespace, kind: by}, runtime
	}
	return workloadOf(pod), time.Second
}

func workloadOf(pod *corev1.Pod) source {
	of := source{namespace: pod.Namespace, stem: stem(pod.Name)}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		of.kind = owner.Kind
	}
	return of
}

// random has the letters of the names that the API server makes up, with five of them at the end (k8s.io/apimachinery/pkg/util/rand).
const random = "bcdfghjklmnpqrstvwxz2456789"

// stem returns the name of a pod without the parts at its end that are made up, or numbers: of an index, of the time of a CronJob.
func stem(name string) string {
	for {
		at := strings.LastIndexByte(name, '-')
		if at <= 0 {
			return name
		}
		part := name[at+1:]
		isRandom, isNumber := len(part) == 5 && strings.Trim(part, random) == "", part != "" && strings.Trim(part, "0123456789") == ""
		if !isRandom && !isNumber {
			return name
		}
		name = name[:at]
	}
}

// Learn takes in how long a pod ran, from its start to the end of its last container by the clock of its kubelet. It learns nothing
// of a pod that has not succeeded. Each pod is to be learned once, in any order. A pod of before the start of this process is old: what
// was expected of it is not known.
func (h *History) Learn(pod *corev1.Pod, old bool) {
	ran, ended, succeeded := ranFor(&pod.Status)
	if !succeeded {
		return
	}
	of, unit := sourceOf(pod)
	if expected := h.values(of); len(expected) > 0 && !old {
		result := "within"
		if ran > times(NineOfTen(expected), unit) {
			result = "longer"
		}
		h.outcomes.WithLabelValues(result).Inc()
	}
	this := former{ended: ended, value: ran.Seconds()}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		this.owner = owner.UID
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(workloadOf(pod), this)
	if of.stem == "" {
		this.value = ran.Seconds() / unit.Seconds()
		h.add(of, this)
	}
}

// add adds a former pod to a source. The caller holds the lock.
func (h *History) add(to source, this former) {
	sources, all := h.find(to)
	if sources == nil {
		sources = lru.New(mostSources)
		h.of.Add(to.namespace, sources)
	}
	all = slices.Clone(all)
	same := slices.IndexFunc(all, func(f former) bool {
		return f.owner != "" && f.owner == this.owner && f.ended.Sub(this.ended).Abs() <= together
	})
	if same >= 0 {
		all[same].value = max(all[same].value, this.value)
	} else {
		at, _ := slices.BinarySearchFunc(all, this.ended, func(f former, ended time.Time) int { return f.ended.Compare(ended) })
		all = slices.Insert(all, at, this)
	}
	sources.Add(to, all[max(0, len(all)-mostKept):])
}

// find returns the sources of a namespace, nil if it has none, and the former pods of one. The caller holds the lock.
func (h *History) find(of source) (sources *lru.Cache, all []former) {
	if kept, ok := h.of.Get(of.namespace); ok {
		sources, _ = kept.(*lru.Cache)
		kept, _ = sources.Get(of)
		all, _ = kept.([]former)
	}
	return sources, all
}

// ranFor returns how long a pod ran and when it ended, and whether it has succeeded after a time that is known.
func ranFor(status *corev1.PodStatus) (ran time.Duration, ended time.Time, succeeded bool) {
	if status.Phase != corev1.PodSucceeded || status.StartTime == nil {
		return 0, time.Time{}, false
	}
	for i := range status.ContainerStatuses {
		if last := status.ContainerStatuses[i].State.Terminated; last != nil && last.FinishedAt.After(ended) {
			ended = last.FinishedAt.Time
		}
	}
	ran = ended.Sub(status.StartTime.Time)
	return ran, ended, ran > 0 && ran <= longest
}

// values returns the values of a source in their order: of pods that say how long they run, while nothing is known of former ones, that
// they are right. There are none where nothing is expected.
func (h *History) values(of source) []float64 {
	h.mu.Lock()
	_, all := h.find(of)
	h.mu.Unlock() // what is found is changed by nobody
	switch {
	case len(all) >= leastKnown:
	case of.stem == "":
		return []float64{1}
	default:
		return nil
	}
	values := make([]float64, len(all))
	for i := range all {
		values[i] = all[i].value
	}
	slices.Sort(values)
	return values
}

// NineOfTen returns the value that nine of ten are at most, by former ones in their order: of fewer than nine the largest one.
func NineOfTen(former []float64) float64 {
	rank := (9*(len(former)+1) + 9) / 10 // of len(former)+1 pods alike, each is the last one with the same chance
	return former[min(rank, len(former))-1]
}

// median returns the value in the middle of some in their order.
func median(values []float64) float64 { return values[(len(values)-1)/2] }

// times returns a value of a unit as a time that is no longer than the longest one.
func times(value float64, unit time.Duration) time.Duration {
	return time.Duration(min(value*float64(unit), float64(longest)))
}
