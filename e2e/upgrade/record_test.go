package upgrade

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/history"
)

// record is the fate of the pods. Its methods may be called from any goroutine.
type record struct {
	bindings *history.Bindings

	mu    sync.Mutex
	nodes map[types.UID]string // that pods are bound to
	gangs map[string]int       // how many members of each gang are bound
	early []string             // members of a gang that lacked room when they were bound
	shut  string               // the gang that lacks room
}

// newRecord is of a cluster in which a gang lacks room until it is told of.
func newRecord(shut string) *record {
	return &record{bindings: history.NewBindings(), nodes: map[types.UID]string{}, gangs: map[string]int{}, shut: shut}
}

// node enters a node, as the API server has it.
func (r *record) node(n *corev1.Node) { r.bindings.Observe(watch.Event{Type: watch.Added, Object: n}) }

// open enters that there is room for every gang from now on.
func (r *record) open() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shut = ""
}

// observe is a podwatch.Observer.
func (r *record) observe(_, now *corev1.Pod) {
	if now == nil {
		return // nobody deletes pods
	}
	r.bindings.Observe(watch.Event{Type: watch.Modified, Object: now})
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Spec.NodeName == "" || r.nodes[now.UID] != "" {
		return
	}
	r.nodes[now.UID] = now.Spec.NodeName
	gang := now.Labels[v1alpha1.LabelX]
	if gang == "" {
		return
	}
	r.gangs[gang]++
	if gang == r.shut {
		r.early = append(r.early, fmt.Sprintf("pod %s is bound to node %s, and its gang lacks room", now.Name, now.Spec.NodeName))
	}
}

// bound is how many pods are bound.
func (r *record) bound() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.nodes)
}

// wrong describes the bindings that should not be, once no more are to come. Each gang has this number of members.
func (r *record) wrong(members map[string]int) ([]string, error) {
	audit, err := r.bindings.Audit()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	wrong := slices.Concat(audit.Overcommitted, audit.Moved, r.early)
	for _, gang := range slices.Sorted(maps.Keys(r.gangs)) {
		if bound := r.gangs[gang]; bound < members[gang] {
			wrong = append(wrong, fmt.Sprintf("%d of %d members of gang %s are bound", bound, members[gang], gang))
		}
	}
	return wrong, nil
}

// lost names created pods that are not bound.
func lost(created []string, pods []corev1.Pod) []string {
	nodes := map[string]string{}
	for i := range pods {
		nodes[pods[i].Name] = cmp.Or(pods[i].Spec.NodeName, nodes[pods[i].Name])
	}
	return slices.DeleteFunc(slices.Clone(created), func(name string) bool { return nodes[name] != "" })
}
