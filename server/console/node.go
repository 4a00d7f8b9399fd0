package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
)

// nodePage is one node and what is on it.
type nodePage struct {
	nodeRow
	Taints []string    `json:"taints"` // as kubectl writes them
	Pods   []podOnNode `json:"pods"`   // by name
}

// podOnNode is a pod that counts on a node, and what it requests.
type podOnNode struct {
	Pod       string  `json:"pod"` // namespace/name
	Priority  int32   `json:"priority,omitempty"`
	Requested amounts `json:"requested"`
	// As is bound, assumed, or reserved: room that a plan keeps.
	As string `json:"as"`
}

func (s *Console) debugNode(r *http.Request) (inspect.Answer, error) {
	name := chi.URLParam(r, "node")
	node := s.options.Cluster.Snapshot().NodeByName(name)
	if node == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "node: there is no node %q; /debug/nodes lists the nodes", name)
	}
	page := nodePage{nodeRow: newNodeRow(node), Taints: []string{}, Pods: []podOnNode{}}
	for i := range node.Spec.Taints {
		page.Taints = append(page.Taints, node.Spec.Taints[i].ToString())
	}
	for _, pod := range node.Pods {
		page.Pods = append(page.Pods, newPodOnNode(pod))
	}
	slices.SortFunc(page.Pods, func(a, b podOnNode) int { return cmp.Compare(a.Pod, b.Pod) })
	return page, nil
}

func newPodOnNode(pod *cluster.Pod) podOnNode {
	row := podOnNode{Pod: pod.FullName(), As: "bound", Requested: amounts{
		CPU: pod.Requests.MilliCPU, Memory: pod.Requests.Memory, Extended: extendedOf(&pod.Requests),
	}}
	if pod.Spec.Priority != nil {
		row.Priority = *pod.Spec.Priority
	}
	switch {
	case pod.Placeholder:
		row.As = "reserved"
	case pod.Spec.NodeName == "":
		row.As = "assumed"
	}
	return row
}

// Text implements [inspect.Answer].
func (p nodePage) Text(t *inspect.Table) {
	t.Title("%s: zone %s, rack %s, pool %s", p.Node, cmp.Or(p.Zone, "-"), cmp.Or(p.Rack, "-"), cmp.Or(p.Pool, "-"))
	t.Row("cordoned", p.Unschedulable)
	t.Row("taints", cmp.Or(strings.Join(p.Taints, ", "), "-"))
	t.Row("CPU requested", fmt.Sprintf("%dm of %dm", p.Requested.CPU, p.Allocatable.CPU))
	t.Row("memory requested", fmt.Sprintf("%dMi of %dMi", p.Requested.Memory>>20, p.Allocatable.Memory>>20))
	t.Row("extended resources", inExtended(p.Requested.Extended, p.Allocatable.Extended))
	if p.Used != nil {
		t.Row("used", fmt.Sprintf("%dm, %dMi, measured %s", p.Used.CPU, p.Used.Memory>>20, inspect.Time(p.Measured)))
	}
	t.Gap()
	t.Row("POD", "CPU", "MEMORY", "EXTENDED", "PRIORITY", "AS")
	for i := range p.Pods {
		pod := &p.Pods[i]
		var extended []string
		for _, name := range slices.Sorted(maps.Keys(pod.Requested.Extended)) {
			extended = append(extended, fmt.Sprintf("%s=%d", name, pod.Requested.Extended[name]))
		}
		t.Row(pod.Pod, fmt.Sprintf("%dm", pod.Requested.CPU), fmt.Sprintf("%dMi", pod.Requested.Memory>>20),
			cmp.Or(strings.Join(extended, " "), "-"), pod.Priority, pod.As)
	}
}
