package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/fit"
)

// record is what the API server told of a run. Its methods are safe for concurrent use.
type record struct {
	mu      sync.Mutex
	changes []change
	pods    map[string]*past
	err     error // why it is not complete
}

// change is an event that may turn what room there is.
type change struct {
	version uint64 // of etcd, so that changes of nodes and pods have one order
	node    *corev1.Node
	pod     *corev1.Pod
	gone    bool
}

// past is what became of a pod. Times are those at which this process heard of it.
type past struct {
	created, bound time.Time
	unschedulable  bool // the scheduler found no place for it, once
	preempted      bool
	finished       bool
}

func newRecord() *record { return &record{pods: map[string]*past{}} }

func (r *record) observe(event watch.Event) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	c := change{gone: event.Type == watch.Deleted}
	var version string
	switch object := event.Object.(type) {
	case *corev1.Node:
		c.node, version = object, object.ResourceVersion
		if c.gone {
			return
		}
	case *corev1.Pod:
		if !r.note(object, now) && !c.gone {
			return
		}
		c.pod, version = trimmed(object), object.ResourceVersion
	}
	parsed, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		r.err = cmp.Or(r.err, fmt.Errorf("resource version: %w", err))
	}
	c.version = parsed
	r.changes = append(r.changes, c)
}

// note keeps what is new about a pod. It says whether that turns what room there is.
func (r *record) note(p *corev1.Pod, now time.Time) bool {
	of := r.pods[p.Name]
	if of == nil {
		of = &past{created: now}
		r.pods[p.Name] = of
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable:
			of.unschedulable = true
		case c.Type == corev1.DisruptionTarget && c.Reason == corev1.PodReasonPreemptionByScheduler:
			of.preempted = true
		}
	}
	turns := false
	if p.Spec.NodeName != "" && of.bound.IsZero() {
		of.bound, turns = now, true
	}
	if p.Status.Phase == corev1.PodSucceeded && !of.finished {
		of.finished, turns = true, true
	}
	return turns
}

// trimmed is what a ledger reads of a pod.
func trimmed(p *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID},
		Spec:       corev1.PodSpec{NodeName: p.Spec.NodeName, Containers: p.Spec.Containers},
		Status:     corev1.PodStatus{Phase: p.Status.Phase},
	}
}

// audit holds every binding against what was on the node then. It returns how many there
// were and describes those that overcommitted their node.
func (r *record) audit() (bindings int, overcommitted []string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	slices.SortStableFunc(r.changes, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	ledger := fit.NewLedger()
	for _, c := range r.changes {
		switch {
		case c.node != nil:
			ledger.Node(c.node)
		case c.gone:
			ledger.Gone(c.pod.UID)
		default:
			bound, lacking := ledger.Pod(c.pod)
			if bound {
				bindings++
			}
			if len(lacking) > 0 {
				overcommitted = append(overcommitted, fmt.Sprintf("pod %s on node %s at version %d: too little %s",
					c.pod.Name, c.pod.Spec.NodeName, c.version, strings.Join(lacking, ", ")))
			}
		}
	}
	return bindings, overcommitted, r.err
}

// isBound says whether a pod has been bound.
func (r *record) isBound(pod string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.pods[pod]
	return of != nil && !of.bound.IsZero()
}

// waits are the times from the creation to the binding of the pods that were bound.
func (r *record) waits() map[string]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	waits := map[string]time.Duration{}
	for name, of := range r.pods {
		if !of.bound.IsZero() {
			waits[name] = of.bound.Sub(of.created)
		}
	}
	return waits
}

// count is how many pods were so.
func (r *record) count(so func(*past) bool) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, of := range r.pods {
		if so(of) {
			n++
		}
	}
	return n
}
