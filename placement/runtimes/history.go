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
	// mostKept is how many runtimes of a workload are kept, the last ones.
	mostKept = 32
	// mostWorkloads is of how many workloads of a namespace runtimes are kept, and mostNamespaces of how many namespaces: of those in which
	// a pod has succeeded last.
	mostWorkloads  = 64
	mostNamespaces = 1024
)

// History is how long former pods ran that have succeeded, by their workloads. It is bounded for each namespace, so a tenant pushes
// nothing of others out of it. It is safe for concurrent use.
type History struct {
	outcomes *prometheus.CounterVec

	mu sync.Mutex
	of *lru.Cache // of the names of namespaces: *lru.Cache of workloads: []time.Duration, the last one last
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

// workload names pods that are expected to run for a similar time: by their namespace, the kind of their controller, and their name
// without the parts that tell one of them from the next.
type workload struct{ namespace, kind, stem string }

func workloadOf(pod *corev1.Pod) workload {
	w := workload{namespace: pod.Namespace, stem: stem(pod.Name)}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		w.kind = owner.Kind
	}
	return w
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
	of := workloadOf(pod)
	h.mu.Lock()
	defer h.mu.Unlock()
	workloads, former := h.find(of)
	if workloads == nil {
		workloads = lru.New(mostWorkloads)
		h.of.Add(of.namespace, workloads)
	}
	if len(former) >= leastKnown {
		result := "within"
		if ran > most(slices.Sorted(slices.Values(former))) {
			result = "longer"
		}
		h.outcomes.WithLabelValues(result).Inc()
	}
	former = append(former, ran)
	workloads.Add(of, former[max(0, len(former)-mostKept):])
}

// find returns the workloads of a namespace, nil if it has none, and the runtimes of the former pods of one.
func (h *History) find(of workload) (workloads *lru.Cache, former []time.Duration) {
	if kept, ok := h.of.Get(of.namespace); ok {
		workloads, _ = kept.(*lru.Cache)
		kept, _ = workloads.Get(of)
		former, _ = kept.([]time.Duration)
	}
	return workloads, former
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

// former returns how long the last former pods of a workload ran, the shortest time first; none if these are too few to expect anything.
func (h *History) former(of workload) []time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, former := h.find(of)
	if len(former) < leastKnown {
		return nil
	}
	return slices.Sorted(slices.Values(former))
}

// most returns the time that nine of ten pods run for at most, by the runtimes of former ones, the shortest first: of fewer than nine
// the longest one.
func most(former []time.Duration) time.Duration {
	rank := (9*(len(former)+1) + 9) / 10 // of len(former)+1 pods alike, each is the last one with the same chance
	return former[min(rank, len(former))-1]
}
