package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Nodes counts the nodes of a cluster by what they are for a pod: All is the sum of the others.
type Nodes struct {
	All int `json:"all"`
	// Fit are nodes that take the pod as they are.
	Fit int `json:"fit"`
	// Yield are nodes that take it once plans of lower priority give way, which they do if it fits nowhere else.
	Yield int `json:"yield"`
	// Full are nodes that lack room, and nothing else is against them.
	Full int `json:"full"`
	// Refuse are nodes that something else is against.
	Refuse int `json:"refuse"`
	// Nearest is the node that lacks the least, if some lack room and none take the pod.
	Nearest *Gap `json:"nearest,omitempty"`
}

// Gap names a node, and how much more it would have to have free to take a pod. Node is "" for who may not know it.
type Gap struct {
	Node  string              `json:"node"`
	Lacks corev1.ResourceList `json:"lacks"`
}

// Refusal is an objection to a number of nodes. A node may have several.
type Refusal struct {
	predicates.Objection
	Nodes int `json:"nodes"`
}

// Node tells of a pod on a node.
type Node struct {
	Node    string                 `json:"node"`
	Fits    bool                   `json:"fits"`
	Total   int64                  `json:"total"`
	Scores  []predicates.ScorePart `json:"scores,omitempty"`
	Against []predicates.Objection `json:"against,omitempty"`
	// Yields says that what is against it are plans of lower priority.
	Yields bool `json:"yields,omitempty"`
}

// count counts a node.
func (n *Nodes) count(node *Node) {
	n.All++
	switch {
	case node.Fits:
		n.Fit++
	case node.Yields:
		n.Yield++
	case node.lacksRoomOnly():
		n.Full++
	default:
		n.Refuse++
	}
}

func (n *Node) lacksRoomOnly() bool {
	return !slices.ContainsFunc(n.Against, besidesRoom)
}

// besidesRoom reports whether an objection is to something besides a lack of room.
func besidesRoom(o predicates.Objection) bool { return o.Predicate != config.NodeResourcesFit }

// String is as in "1 of 3 nodes; 2 lack room alone".
func (n *Nodes) String() string {
	text := []string{fmt.Sprintf("%d of %d nodes", n.Fit, n.All)}
	for _, of := range []struct {
		nodes int
		are   string
	}{{n.Yield, "once plans of lower priority give way"}, {n.Full, "lack room alone"}, {n.Refuse, "refuse it otherwise"}} {
		if of.nodes > 0 {
			text = append(text, fmt.Sprintf("%d %s", of.nodes, of.are))
		}
	}
	return strings.Join(text, "; ")
}

// String is as in "node a lacks 2 cpu".
func (g *Gap) String() string {
	if g.Node == "" {
		return "the nearest node lacks " + amounts(g.Lacks)
	}
	return "node " + g.Node + " lacks " + amounts(g.Lacks)
}

// reasonTooManyPods is against a node that may run no more pods.
const reasonTooManyPods = "Too many pods"

// shortOf returns how much of a resource a node lacks for a pod, by an objection for want of room. CPU is in thousandths.
func shortOf(pod *cluster.Pod, node *cluster.Node, reason string) (name corev1.ResourceName, amount int64) {
	asked, offered, taken := &pod.Requests, &node.Allocatable, &node.Requested
	if reason == reasonTooManyPods {
		return corev1.ResourcePods, int64(len(node.Pods)) + 1 - offered.Pods
	}
	switch name = corev1.ResourceName(strings.TrimPrefix(reason, "Insufficient ")); name {
	case corev1.ResourceCPU:
		return name, asked.MilliCPU + taken.MilliCPU - offered.MilliCPU
	case corev1.ResourceMemory:
		return name, asked.Memory + taken.Memory - offered.Memory
	case corev1.ResourceEphemeralStorage:
		return name, asked.EphemeralStorage + taken.EphemeralStorage - offered.EphemeralStorage
	}
	for _, scalar := range asked.Scalars {
		if scalar.Name.Value() == name {
			return name, scalar.Amount + taken.Scalar(scalar.Name) - offered.Scalar(scalar.Name)
		}
	}
	return name, 0
}

// nearest keeps the node that lacks the least: the fewest resources, and of these the least of the first.
type nearest struct {
	node    *cluster.Node // without the pod, nil before the first
	against []predicates.Objection
	short   int64
}

func (n *nearest) consider(pod *cluster.Pod, node *cluster.Node, against []predicates.Objection) {
	_, short := shortOf(pod, node, against[0].Reason)
	if n.node == nil || cmp.Or(cmp.Compare(len(against), len(n.against)), cmp.Compare(short, n.short)) < 0 {
		n.node, n.against, n.short = node, against, short
	}
}

// gap returns what the node lacks, nil without one.
func (n *nearest) gap(pod *cluster.Pod) *Gap {
	if n.node == nil {
		return nil
	}
	g := &Gap{Node: n.node.Name, Lacks: corev1.ResourceList{}}
	for _, o := range n.against {
		name, amount := shortOf(pod, n.node, o.Reason)
		g.Lacks[name] = *quantityOf(name, amount)
	}
	return g
}

// quantityOf returns an amount as people are shown it. CPU is in thousandths.
func quantityOf(name corev1.ResourceName, amount int64) *resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return resource.NewMilliQuantity(amount, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return resource.NewQuantity(amount, resource.BinarySI)
	default:
		return resource.NewQuantity(amount, resource.DecimalSI)
	}
}

// asks returns what a pod asks for.
func asks(r *cluster.Resources) corev1.ResourceList {
	list := corev1.ResourceList{}
	add := func(name corev1.ResourceName, amount int64) {
		if amount > 0 {
			list[name] = *quantityOf(name, amount)
		}
	}
	add(corev1.ResourceCPU, r.MilliCPU)
	add(corev1.ResourceMemory, r.Memory)
	add(corev1.ResourceEphemeralStorage, r.EphemeralStorage)
	for _, scalar := range r.Scalars {
		add(scalar.Name.Value(), scalar.Amount)
	}
	return list
}

// amounts is as in "4 cpu, 2Gi memory".
func amounts(list corev1.ResourceList) string {
	var all []string
	for _, name := range sorted(list) {
		amount := list[name]
		all = append(all, amount.String()+" "+string(name))
	}
	return strings.Join(all, ", ")
}

func sorted(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// refusals are the objections to nodes, those to most nodes first.
func refusals(nodes []Node) []Refusal {
	counts := map[predicates.Objection]int{}
	for i := range nodes {
		for _, objection := range nodes[i].Against {
			counts[objection]++
		}
	}
	var all []Refusal
	for objection, nodes := range counts {
		all = append(all, Refusal{objection, nodes})
	}
	slices.SortFunc(all, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), strings.Compare(a.Predicate, b.Predicate), strings.Compare(a.Reason, b.Reason))
	})
	return all
}

// numbered is as in "1 node", "3 nodes".
func numbered(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}
