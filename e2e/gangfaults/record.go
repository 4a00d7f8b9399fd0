package gangfaults

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/history"
)

// record is what the API server told of a run. Its methods are safe for concurrent use.
type record struct {
	bindings *history.Bindings

	mu      sync.Mutex
	entries []entry
	now     *state
	err     error // why it is not complete
}

func newRecord() *record { return &record{bindings: history.NewBindings(), now: newState()} }

func (r *record) observe(event watch.Event) {
	at := time.Now()
	r.bindings.Observe(event)
	object, ok := event.Object.(metav1.Object)
	if !ok {
		return
	}
	e := entry{at: at, gone: event.Type == watch.Deleted}
	switch object := countDevices(event.Object).(type) {
	case *corev1.Node:
		e.node = object
	case *corev1.Pod:
		e.pod = object
	case *unstructured.Unstructured:
		e.group = object
	case *corev1.Event:
		e.event = object
	case *resourcev1.ResourceClaim:
		e.claim = object
	}
	var err error
	e.version, err = strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.err = cmp.Or(r.err, fmt.Errorf("resource version: %w", err))
	}
	r.entries = append(r.entries, e)
	r.now.apply(e)
}

// unsettled says what is not settled in the state as it is now.
func (r *record) unsettled() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.now.unsettled(), r.now.lies(), r.now.leftBehind())
}

// empty says that there is nothing.
func (r *record) empty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.now.nodes)+len(r.now.pods)+len(r.now.groups)+len(r.now.claims) == 0
}

// history is all that was observed, until then.
func (r *record) history() ([]entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.entries), r.err
}
