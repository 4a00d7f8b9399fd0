package campaign

import (
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// musterManager is who muster is in managedFields.
	musterManager = "muster"
	// orphanLimit is how long a nomination may stand without a plan.
	orphanLimit = 30 * time.Second
)

// orphans are nominations of muster's on pending pods that muster has no plan for: it has
// given the plan up, or was started again and does not know of it. Methods are safe for
// concurrent use.
type orphans struct {
	mu      sync.Mutex
	pods    map[types.UID]*nominated
	total   int           // nominations of muster's that were seen
	longest time.Duration // that one was an orphan
	tooLong []string
}

// nominated is a pending pod with a nomination of muster's.
type nominated struct {
	pod, node string
	orphan    time.Time // since when, zero while muster has a plan
	told      bool
}

func newOrphans() *orphans { return &orphans{pods: map[types.UID]*nominated{}} }

func (o *orphans) observe(event watch.Event) {
	p, ok := event.Object.(*corev1.Pod)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	node := p.Status.NominatedNodeName
	if event.Type == watch.Deleted || p.Spec.NodeName != "" || node == "" || nominator(p) != musterManager {
		delete(o.pods, p.UID)
		return
	}
	if known := o.pods[p.UID]; known == nil || known.node != node {
		o.pods[p.UID] = &nominated{pod: p.Namespace + "/" + p.Name, node: node}
		o.total++
	}
}

// nominator is who wrote the nominated node of a pod.
func nominator(p *corev1.Pod) string {
	for _, f := range p.ManagedFields {
		if f.Subresource == "status" && f.FieldsV1 != nil && strings.Contains(f.FieldsV1.GetRawString(), `"f:nominatedNodeName"`) {
			return f.Manager
		}
	}
	return ""
}

// check holds the nominations against the pods, as namespace/name, that muster says it has
// a plan for.
func (o *orphans) check(now time.Time, planned map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.pods {
		switch {
		case planned[n.pod]:
			n.orphan = time.Time{}
		case n.orphan.IsZero():
			n.orphan = now
		}
		if n.orphan.IsZero() {
			continue
		}
		o.longest = max(o.longest, now.Sub(n.orphan))
		if now.Sub(n.orphan) > orphanLimit && !n.told {
			n.told = true
			o.tooLong = append(o.tooLong, fmt.Sprintf("pod %s nominated to node %s", n.pod, n.node))
		}
	}
}

// excuse restarts counting, as nobody could tell for a time what muster has plans for.
func (o *orphans) excuse() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, n := range o.pods {
		n.orphan = time.Time{}
	}
}

// suspects is how many orphans there are that may yet stand for too long.
func (o *orphans) suspects() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, nominated := range o.pods {
		if !nominated.orphan.IsZero() && !nominated.told {
			n++
		}
	}
	return n
}
