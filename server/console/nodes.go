package console

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/network"
)

// nodesPage is every node of one generation of the cluster, in no order.
type nodesPage struct {
	Generation uint64 `json:"generation"`
	// Networks are by whose levels nodes are labelled and looked for, see [network.InUse].
	Networks []network.Network `json:"networks,omitempty"`
	Nodes    []nodeRow         `json:"nodes"`
}

// nodeRow shows what a node offers, what its pods ask for and what it uses.
type nodeRow struct {
	Node string `json:"node"`
	Zone string `json:"zone,omitempty"`
	Rack string `json:"rack,omitempty"`
	Pool string `json:"pool,omitempty"`
	// Labels are its labels by the keys of the networks of the page.
	Labels map[string]string `json:"labels,omitempty"`
	// Unschedulable says that it is cordoned.
	Unschedulable bool    `json:"unschedulable,omitempty"`
	Allocatable   amounts `json:"allocatable"`
	Requested     amounts `json:"requested"`
	// Used is the usage measured on the node, pods included, at Measured; nil when nothing was ever measured.
	Used     *amounts  `json:"used,omitempty"`
	Measured time.Time `json:"measured,omitzero"`
}

// amounts are amounts of resources. Of Pods, what is requested is how many there are.
type amounts struct {
	CPU      int64            `json:"cpu"`    // in thousandths
	Memory   int64            `json:"memory"` // in bytes
	Pods     int64            `json:"pods,omitempty"`
	Extended map[string]int64 `json:"extended,omitempty"`
}

// rackOf is the rack, leaf switch or the like that a node is in, by what providers and tools label nodes with.
func rackOf(node *cluster.Node) string {
	return firstLabel(node, "topology.kubernetes.io/rack", "network.topology.nvidia.com/leaf", "fabric.topograph.run/tier-0",
		"cloud.google.com/gce-topology-subblock", "topology.k8s.aws/network-node-layer-3")
}

// poolOf is the pool or group of nodes that a node was made in.
func poolOf(node *cluster.Node) string {
	return firstLabel(node, "karpenter.sh/nodepool", "cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup",
		"kubernetes.azure.com/agentpool")
}

// firstLabel returns the node's value of the first of these labels that it has.
func firstLabel(node *cluster.Node, labels ...string) string {
	for _, label := range labels {
		if value := node.Labels[label]; value != "" {
			return value
		}
	}
	return ""
}

func newNodeRow(node *cluster.Node) nodeRow {
	row := nodeRow{
		Node: node.Name, Zone: node.Labels[corev1.LabelTopologyZone], Rack: rackOf(node), Pool: poolOf(node),
		Unschedulable: node.Spec.Unschedulable,
		Allocatable:   amounts{CPU: node.Allocatable.MilliCPU, Memory: node.Allocatable.Memory, Pods: node.Allocatable.Pods},
		Requested:     amounts{CPU: node.Requested.MilliCPU, Memory: node.Requested.Memory, Pods: int64(len(node.Pods))},
	}
	// A node that does not offer a resource any more still has pods that requested it.
	for _, one := range slices.Concat(node.Allocatable.Scalars, node.Requested.Scalars) {
		if row.Allocatable.Extended == nil {
			row.Allocatable.Extended, row.Requested.Extended = map[string]int64{}, map[string]int64{}
		}
		name := string(one.Name.Value())
		row.Allocatable.Extended[name], row.Requested.Extended[name] = node.Allocatable.Scalar(one.Name), node.Requested.Scalar(one.Name)
	}
	if node.Usage != nil && !node.Usage.Updated.IsZero() {
		row.Used, row.Measured = &amounts{CPU: node.Usage.Node.MilliCPU, Memory: node.Usage.Node.Memory}, node.Usage.Updated.UTC()
	}
	return row
}

// extendedOf are the extended resources among others, nil if there are none.
func extendedOf(resources *cluster.Resources) map[string]int64 {
	if len(resources.Scalars) == 0 {
		return nil
	}
	extended := make(map[string]int64, len(resources.Scalars))
	for _, one := range resources.Scalars {
		extended[string(one.Name.Value())] = one.Amount
	}
	return extended
}

// labelsOf are the labels of a node that have one of these keys, nil if there are none.
func labelsOf(node *cluster.Node, keys []string) (labels map[string]string) {
	for _, key := range keys {
		if value, has := node.Labels[key]; has {
			if labels == nil {
				labels = make(map[string]string, len(keys))
			}
			labels[key] = value
		}
	}
	return labels
}

func (s *Console) debugNodes(*http.Request) (inspect.Answer, error) {
	snap := s.options.Cluster.Snapshot()
	page := nodesPage{Generation: snap.Generation, Nodes: make([]nodeRow, 0, snap.NodeCount())}
	page.Networks, _ = network.InUse(snap, s.gangs())
	var keys []string
	for _, level := range network.LevelsOf(page.Networks) {
		keys = append(keys, level...)
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	for node := range snap.Nodes() {
		row := newNodeRow(node)
		row.Labels = labelsOf(node, keys)
		page.Nodes = append(page.Nodes, row)
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p nodesPage) Text(t *inspect.Table) {
	t.Title("generation %d, %d nodes", p.Generation, len(p.Nodes))
	t.Row("NODE", "PODS", "CPU", "CPU%", "MEMORY", "MEMORY%", "CPU USED", "MEMORY USED", "EXTENDED")
	for i := range p.Nodes {
		n := &p.Nodes[i]
		usedCPU, usedMemory := "-", "-"
		if n.Used != nil {
			usedCPU, usedMemory = percent(n.Used.CPU, n.Allocatable.CPU), percent(n.Used.Memory, n.Allocatable.Memory)
		}
		t.Row(n.Node,
			fmt.Sprintf("%d/%d", n.Requested.Pods, n.Allocatable.Pods),
			fmt.Sprintf("%dm/%dm", n.Requested.CPU, n.Allocatable.CPU), percent(n.Requested.CPU, n.Allocatable.CPU),
			fmt.Sprintf("%dMi/%dMi", n.Requested.Memory>>20, n.Allocatable.Memory>>20), percent(n.Requested.Memory, n.Allocatable.Memory),
			usedCPU, usedMemory, inExtended(n.Requested.Extended, n.Allocatable.Extended))
	}
}

func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*float64(part)/float64(whole))
}

// inExtended writes how much of each extended resource is requested of what is offered.
func inExtended(requested, offered map[string]int64) string {
	var resources []string
	for _, name := range slices.Sorted(maps.Keys(offered)) {
		resources = append(resources, fmt.Sprintf("%s=%d/%d", name, requested[name], offered[name]))
	}
	return cmp.Or(strings.Join(resources, " "), "-")
}

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
