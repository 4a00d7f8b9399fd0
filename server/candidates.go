package server

import "muster.dev/muster/cluster"

// candidates turns the node names of requests into nodes. The scheduler names
// nodes in much the same order time after time, so it remembers which node came
// after which, and a name costs one comparison instead of a hash and a look-up.
// The order is a guess that is always checked: a wrong one costs time only.
type candidates struct {
	nodes []*cluster.Node
	after []int32 // after[i+1] came after index i, after[0] came first
}

// resolve returns the node of each name, nil for an unknown one. The slice is
// used again by the next call.
func (k *candidates) resolve(snap *cluster.Snapshot, names [][]byte) []*cluster.Node {
	k.nodes = k.nodes[:0]
	if missing := snap.IndexEnd() + 1 - len(k.after); missing > 0 {
		k.after = append(k.after, make([]int32, missing)...)
	}
	previous := int32(-1)
	for _, name := range names {
		node := snap.Node(k.after[previous+1])
		if node == nil || node.Name != string(name) {
			if node = snap.NodeByNameBytes(name); node != nil {
				k.after[previous+1] = node.Index
			}
		}
		if node != nil {
			previous = node.Index
		}
		k.nodes = append(k.nodes, node)
	}
	return k.nodes
}
