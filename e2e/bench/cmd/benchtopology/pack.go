package main

import "muster.dev/muster/placement/topology"

// pack divides pods that are alike by the number that has room on each node, and nothing else.
func pack(in *instance) (places, error) {
	var nodes []topology.Node
	slots := make([]int32, len(in.nodes))
	ask := &topology.Ask{Pods: in.pods(), Required: in.required, Balanced: in.balanced, Slices: in.slices}
	for n := range in.nodes {
		index, path := int32(n), make([]int32, in.levels)
		for level, value := range in.nodes[n].path {
			path[level] = int32(value)
		}
		nodes = append(nodes, topology.Node{Index: index, Path: path})
		slots[n] = int32(in.nodes[n].free[0])
		if there := in.nodes[n].there[0]; there > 0 {
			ask.There = append(ask.There, topology.Share{Node: index, Pods: there})
		}
	}
	division, _ := topology.New(nodes, in.levels).Pack(slots, ask, func() bool { return false })
	if division == nil {
		return nil, nil
	}
	placed := places{make([]int, len(in.nodes))}
	for _, share := range division.Nodes {
		placed[0][share.Node] = share.Pods
	}
	return placed, nil
}
