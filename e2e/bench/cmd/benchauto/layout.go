package main

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/bench/lab"
)

// layout is the room on nodes, by requests, and the pods on them.
type layout struct {
	nodes   []*corev1.Node
	free    map[string]room
	on      map[string][]*corev1.Pod
	waiting []*corev1.Pod // that kube-scheduler has refused, the largest first
}

func newLayout(nodes []*corev1.Node, pods []*corev1.Pod) *layout {
	l := &layout{nodes: nodes, free: map[string]room{}, on: map[string][]*corev1.Pod{}}
	for _, node := range nodes {
		l.free[node.Name] = offers(node)
	}
	for _, pod := range pods {
		if name := pod.Spec.NodeName; name != "" {
			l.on[name] = append(l.on[name], pod)
			l.free[name] = l.free[name].minus(requests(pod))
		} else if lab.IsRefused(pod) {
			l.waiting = append(l.waiting, pod)
		}
	}
	slices.SortFunc(l.nodes, func(a, b *corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(l.waiting, func(a, b *corev1.Pod) int {
		return cmp.Or(cmp.Compare(requests(b).milliCPU, requests(a).milliCPU), cmp.Compare(a.Name, b.Name))
	})
	return l
}

// starting is how many nodes are there that do not take pods yet.
func (l *layout) starting() (count int) {
	for _, node := range l.nodes {
		if isStarting(node) {
			count++
		}
	}
	return count
}

// place puts a pod on the first node that has room and takes it, leaving one node out.
func (l *layout) place(pod *corev1.Pod, but string) bool {
	need := requests(pod)
	for _, node := range l.nodes {
		if node.Name != but && isOpen(node) && need.fitsInto(l.free[node.Name]) {
			l.free[node.Name] = l.free[node.Name].minus(need)
			return true
		}
	}
	return false
}

// leastUsed returns the names of the nodes, the least used one first.
func (l *layout) leastUsed() []string {
	names := make([]string, 0, len(l.nodes))
	for _, node := range l.nodes {
		names = append(names, node.Name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(l.used(a), l.used(b)) })
	return names
}

// used is how much of a node is taken, of CPU or memory, whichever is more.
func (l *layout) used(name string) float64 {
	all := offers(newNode(""))
	return max(
		1-float64(l.free[name].milliCPU)/float64(all.milliCPU), 1-float64(l.free[name].bytes)/float64(all.bytes),
	)
}

// canDoWithout says that a node is little used and that its pods fit on others, and counts them there if so.
func (l *layout) canDoWithout(name string) bool {
	if len(l.on[name]) > 0 && l.used(name) >= threshold {
		return false
	}
	before := maps.Clone(l.free)
	for _, pod := range l.on[name] {
		if !l.place(pod, name) {
			l.free = before
			return false
		}
	}
	l.free[name] = room{} // nobody goes there
	return true
}

// room is an amount of what pods request.
type room struct{ milliCPU, bytes, pods int64 }

func (r room) fitsInto(free room) bool {
	return r.milliCPU <= free.milliCPU && r.bytes <= free.bytes && r.pods <= free.pods
}

func (r room) minus(o room) room {
	return room{r.milliCPU - o.milliCPU, r.bytes - o.bytes, r.pods - o.pods}
}

func offers(node *corev1.Node) room {
	return amount(node.Status.Allocatable, node.Status.Allocatable.Pods().Value())
}

func requests(pod *corev1.Pod) room { return amount(pod.Spec.Containers[0].Resources.Requests, 1) }

func amount(of corev1.ResourceList, pods int64) room {
	return room{of.Cpu().MilliValue(), of.Memory().Value(), pods}
}

func isOpen(node *corev1.Node) bool {
	return !node.Spec.Unschedulable && !slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule
	})
}

// isStarting says that a node has not been ready yet.
func isStarting(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
}

func nodeIsReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
