package runtimes

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
)

const (
	// leastKnown is of how many former pods the runtimes are needed to expect one of the next.
	leastKnown = 3
	// mostKept is how many former pods of a source are kept, the last ones.
	mostKept = 32
	// mostSources is how many sources of a namespace are kept, and mostNamespaces of how many namespaces: the ones in which a pod has
	// succeeded last.
	mostSources    = 65
	mostNamespaces = 1024
)

// History is how long former pods ran that have succeeded: by their workloads, and by how far the pods of a namespace were off that said
// how long they run. It is bounded for each namespace, so a tenant pushes nothing of others out of it. It is safe for concurrent use.
type History struct {
	outcomes *prometheus.CounterVec

	mu sync.Mutex
	of *lru.Cache // of the names of namespaces: *lru.Cache of sources: []float64, the last one last
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

// source names the former pods by which the runtime of a pod is expected: pods of a namespace with one kind of controller and one name,
// without the parts that tell one pod from the next, which is a workload; or, with neither, all pods of a namespace that said how long
// they run.
type source struct{ namespace, kind, stem string }

// sourceOf returns the source for a pod, and the unit of its values: what the pod says, or a second.
func sourceOf(pod *corev1.Pod) (of source, unit time.Duration) {
	if runtime, says := said(pod); says {
		return source{namespace: pod.Namespace}, runtime
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

// stem returns the name of a pod without its last part, if that is made up, and without numbers at the end: of an index, of the time of a
// CronJob.
func stem(name string) string {
	if at := strings.LastIndexByte(name, '-'); at > 0 && len(name)-at-1 == 5 && strings.Trim(name[at+1:], random) == "" {
		name = name[:at]
	}
	for {
		short := strings.TrimRight(name, "0123456789")
		if short == name || !strings.HasSuffix(short, "-") || short == "-" {
			return name
		}
		name = short[:len(short)-1]
	}
}

// Learn takes in how long a pod ran, from its start to the end of its last container by the clock of its kubelet. It learns nothing
// of a pod that has not succeeded. Each pod is to be learned once.
func (h *History) Learn(pod *corev1.Pod) {
	ran, succeeded := ranFor(&pod.Status)
	if !succeeded {
		return
	}
	of, unit := sourceOf(pod)
	if expected := h.former(of); len(expected) > 0 {
		result := "within"
		if ran > times(NineOfTen(expected), unit) {
			result = "longer"
		}
		h.outcomes.WithLabelValues(result).Inc()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add(workloadOf(pod), ran.Seconds())
	if of.stem == "" {
		h.add(of, ran.Seconds()/unit.Seconds())
	}
}

// add adds a value to a source. The caller holds the lock.
func (h *History) add(to source, value float64) {
	sources, former := h.find(to)
	if sources == nil {
		sources = lru.New(mostSources)
		h.of.Add(to.namespace, sources)
	}
	former = append(former, value)
	sources.Add(to, former[max(0, len(former)-mostKept):])
}

// find returns the sources of a namespace, nil if it has none, and the values of one. The caller holds the lock.
func (h *History) find(of source) (sources *lru.Cache, former []float64) {
	if kept, ok := h.of.Get(of.namespace); ok {
		sources, _ = kept.(*lru.Cache)
		kept, _ = sources.Get(of)
		former, _ = kept.([]float64)
	}
	return sources, former
}

// ranFor returns how long a pod ran, and whether it has succeeded after a time that is known.
func ranFor(status *corev1.PodStatus) (ran time.Duration, succeeded bool) {
	if status.Phase != corev1.PodSucceeded || status.StartTime == nil {
		return 0, false
	}
	for i := range status.ContainerStatuses {
		if ended := status.ContainerStatuses[i].State.Terminated; ended != nil {
			ran = max(ran, ended.FinishedAt.Sub(status.StartTime.Time))
		}
	}
	return ran, ran > 0 && ran <= longest
}

// former returns the values of a source in their order; none if these are too few to expect anything.
func (h *History) former(of source) []float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, former := h.find(of)
	if len(former) < leastKnown {
		return nil
	}
	return slices.Sorted(slices.Values(former))
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
