package predicates

import (
	"unique"

	"muster.dev/muster/cluster"
)

// selection remembers about which pods a selector is, while many nodes are looked at:
// pods that no selector can tell apart are asked about once. Most pods of a cluster are
// copies of a few, and a look at the labels of each is what a first judgement takes the
// longest for.
type selection struct {
	known map[unique.Handle[string]]bool // by Pod.Labelled; nil while nothing is remembered
}

// manyNodes are so many that remembering is worth it.
const manyNodes = 64

// remember prepares for a look at nodes. forget must follow.
func (s *selection) remember(nodes []int32) {
	if len(nodes) > manyNodes {
		s.known = map[unique.Handle[string]]bool{}
	}
}

func (s *selection) forget() { s.known = nil }

// of is what selects says of the namespace and the labels of a pod.
func (s *selection) of(pod *cluster.Pod, selects func(*cluster.Pod) bool) bool {
	if s.known == nil {
		return selects(pod)
	}
	is, known := s.known[pod.Labelled]
	if !known {
		is = selects(pod)
		s.known[pod.Labelled] = is
	}
	return is
}
