package network

import (
	"iter"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// Ready reports whether a node would take pods: it is ready, as far as that is known, and not cordoned.
func Ready(node *cluster.Node) bool {
	return !node.Spec.Unschedulable && !slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue
	})
}

// Empty reports whether nothing is on a node but what is on every node: pods of DaemonSets.
func Empty(node *cluster.Node) bool {
	return !slices.ContainsFunc(node.Pods, func(pod *cluster.Pod) bool { return !pod.OfDaemonSet() })
}

// Wholeness is how whole the domains of a level are.
type Wholeness struct {
	Domains   int // a node that lacks a label is in none
	Whole     int // those with ready nodes that are all empty
	MostEmpty int // the largest number of nodes of one domain that are ready and empty
}

// Measure returns the wholeness of levels, by level. It looks at each node once.
func Measure(nodes iter.Seq[*cluster.Node], levels []Level) []Wholeness {
	type domain struct{ ready, empty int }
	domains := make([]map[string]*domain, len(levels))
	for i := range levels {
		domains[i] = map[string]*domain{}
	}
	for node := range nodes {
		ready := Ready(node)
		empty := ready && Empty(node)
		for i, level := range levels {
			path := level.Path(node)
			if slices.Contains(path, Without) {
				continue
			}
			at := strings.Join(path, "/") // no value of a label has one
			if domains[i][at] == nil {
				domains[i][at] = &domain{}
			}
			d := domains[i][at]
			if ready {
				d.ready++
			}
			if empty {
				d.empty++
			}
		}
	}
	all := make([]Wholeness, len(levels))
	for i := range levels {
		all[i].Domains = len(domains[i])
		for _, d := range domains[i] {
			if d.ready > 0 && d.empty == d.ready {
				all[i].Whole++
			}
			all[i].MostEmpty = max(all[i].MostEmpty, d.empty)
		}
	}
	return all
}
