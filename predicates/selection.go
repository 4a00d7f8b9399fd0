package predicates

import (
	"unique"

	"muster.dev/muster/cluster"
)

// selection remembers which pods a selector selects while many nodes are looked at: it asks once about pods
// that no selector can tell apart. Most pods of a cluster are copies of a few, and a first judgement spends
// most of its time on the labels of each.
type selection struct {
	known map[unique.Handle[string]]bool // by Pod.Labelled; nil while nothing is remembered
}

// manyNodes is the number of nodes from which remembering is worth it.
const manyNodes = 64

// remember prepares for a look at nodes. forget must follow.
func (s *selection) remember(nodes []int32) {
	if len(nodes) > manyNodes {
		s.known = map[unique.Handle[string]]bool{}
	}
}

func (s *selection) forget() { s.known = nil }

// of returns what selects says of the namespace and the labels of a pod of a node, by its place among the node's pods.
func (s *selection) of(node *cluster.Node, place int, selects func(*cluster.Pod) bool) bool {
	if s.known == nil {
		return selects(node.Pods[place])
	}
	is, known := s.known[node.Labelled[place]]
	if !known {
		is = selects(node.Pods[place])
		s.known[node.Labelled[place]] = is
	}
	return is
}
