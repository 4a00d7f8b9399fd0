package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/e2e/fit"
)

// Bindings is the history of what nodes offer and of what is bound to them. Its methods
// are safe for concurrent use.
type Bindings struct {
	mu      sync.Mutex
	changes []change
	seen    map[types.UID]standing
	err     error // why it is not complete
}

// change is an event that may turn what room there is.
type change struct {
	version uint64 // of etcd, so that changes of nodes and pods have one order
	node    *corev1.Node
	pod     *corev1.Pod
	gone    bool
}

// standing is the part of a pod that room depends on.
type standing struct {
	node     string
	finished bool
}

// Audit is the result of checking every binding against what was on its node then.
type Audit struct {
	Bindings int
	// Overcommitted describes the bindings to nodes without room.
	Overcommitted []string
	// Moved describes the pods that were on one node first and on another one later.
	Moved []string
}

// NewBindings is the history of an empty cluster.
func NewBindings() *Bindings { return &Bindings{seen: map[types.UID]standing{}} }

// Observe takes in an event of a node or a pod, and leaves others alone. Events of one object must
// come in their order.
func (b *Bindings) Observe(event watch.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := change{gone: event.Type == watch.Deleted}
	var version string
	switch object := event.Object.(type) {
	case *corev1.Node:
		if c.gone {
			return // what is bound to its name counts still
		}
		c.node, version = object, object.ResourceVersion
	case *corev1.Pod:
		now := standing{object.Spec.NodeName, object.Status.Phase == corev1.PodSucceeded || object.Status.Phase == corev1.PodFailed}
		if !c.gone && now == b.seen[object.UID] {
			return
		}
		b.seen[object.UID] = now
		c.pod, version = trimmed(object), object.ResourceVersion
	default:
		return
	}
	parsed, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		b.err = cmp.Or(b.err, fmt.Errorf("resource version: %w", err))
	}
	c.version = parsed
	b.changes = append(b.changes, c)
}

// trimmed returns the part of a pod that a ledger reads.
func trimmed(p *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, UID: p.UID},
		Spec:       corev1.PodSpec{NodeName: p.Spec.NodeName, Containers: p.Spec.Containers},
		Status:     corev1.PodStatus{Phase: p.Status.Phase},
	}
}

// Audit judges what was observed. It fails when an event made no sense.
func (b *Bindings) Audit() (Audit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.SortStableFunc(b.changes, func(a, b change) int { return cmp.Compare(a.version, b.version) })
	var audit Audit
	ledger, on := fit.NewLedger(), map[types.UID]string{}
	for _, c := range b.changes {
		switch {
		case c.node != nil:
			ledger.Node(c.node)
			continue
		case c.gone:
			ledger.Gone(c.pod.UID)
			continue
		}
		bound, lacking := ledger.Pod(c.pod)
		if bound {
			audit.Bindings++
		}
		if len(lacking) > 0 {
			audit.Overcommitted = append(audit.Overcommitted, fmt.Sprintf("pod %s on node %s at version %d: too little %s",
				c.pod.Name, c.pod.Spec.NodeName, c.version, strings.Join(lacking, ", ")))
		}
		if was := on[c.pod.UID]; was != "" && was != c.pod.Spec.NodeName {
			audit.Moved = append(
				audit.Moved, fmt.Sprintf("pod %s from node %s to %q at version %d", c.pod.Name, was, c.pod.Spec.NodeName, c.version),
			)
		}
		on[c.pod.UID] = c.pod.Spec.NodeName
	}
	return audit, b.err
}
