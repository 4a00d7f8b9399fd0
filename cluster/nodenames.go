package cluster

import (
	"encoding/json"
	"maps"

	"k8s.io/component-helpers/node/topology"
)

// NodeNames is the table of the node names of a snapshot. It is immutable, and
// snapshots between which no node came or went share one: while its pointer is the
// same, an index stands for the same name.
//
// Names also have a position, 0 to Len-1: their place in the order in which
// kube-scheduler walks over nodes, as far as that can be told from here. Requests
// name nodes in about that order, so walking through positions is walking through
// memory.
type NodeNames struct {
	index    map[string]int32
	position []int32 // by index, -1 where there is no node
	// text holds the names as JSON strings, one behind the other by position.
	text   []byte
	offset []uint32 // the name at position p is text[offset[p]:offset[p+1]]
	names  []nodeName
}

// nodeName is what stands at a position.
type nodeName struct {
	name  string
	index int32
}

func newNodeNames(index map[string]int32, nodes *nodeTableWriter) *NodeNames {
	n := &NodeNames{
		index:    maps.Clone(index),
		position: make([]int32, nodes.end),
		offset:   make([]uint32, 1, len(index)+1),
		names:    make([]nodeName, 0, len(index)),
	}
	for i := range n.position {
		n.position[i] = -1
	}
	for _, node := range schedulingOrder(nodes) {
		quoted, err := json.Marshal(node.Name)
		if err != nil {
			panic(err) // a string always has a JSON form
		}
		n.position[node.Index] = int32(len(n.names)) //nolint:gosec // fewer than there are indexes
		n.names = append(n.names, nodeName{name: node.Name, index: node.Index})
		n.text = append(n.text, quoted...)
		n.offset = append(n.offset, uint32(len(n.text))) //nolint:gosec // names of a few hundred bytes, far fewer than 2²⁴
	}
	return n
}

// schedulingOrder is the order of kube-scheduler's node tree: one node of each zone
// in turn, zones and nodes as they came (pkg/scheduler/backend/cache/node_tree.go).
func schedulingOrder(nodes *nodeTableWriter) []*Node {
	var zones [][]*Node
	byZone := map[string]int{}
	count := 0
	for i := range int32(nodes.end) { //nolint:gosec // an end of indexes
		node := nodes.at(i)
		if node == nil {
			continue
		}
		zone, known := byZone[topology.GetZoneKey(node.Node)]
		if !known {
			zone = len(zones)
			byZone[topology.GetZoneKey(node.Node)] = zone
			zones = append(zones, nil)
		}
		zones[zone] = append(zones[zone], node)
		count++
	}
	order := make([]*Node, 0, count)
	for turn := 0; len(order) < count; turn++ {
		for _, zone := range zones {
			if turn < len(zone) {
				order = append(order, zone[turn])
			}
		}
	}
	return order
}

// Len is the number of names.
func (n *NodeNames) Len() int { return len(n.names) }

// Index is the index of a name, -1 when there is no such node.
func (n *NodeNames) Index(name []byte) int32 {
	if i, ok := n.index[string(name)]; ok {
		return i
	}
	return -1
}

// Name is the name under the index of a node.
func (n *NodeNames) Name(index int32) string { return n.names[n.position[index]].name }

// Quoted is the name under an index as a JSON string, empty when there is none. It
// must not be changed.
func (n *NodeNames) Quoted(index int32) []byte {
	if index < 0 || int(index) >= len(n.position) || n.position[index] < 0 {
		return nil
	}
	return n.quotedAt(n.position[index])
}

// Position is the position of the name under the index of a node.
func (n *NodeNames) Position(index int32) int32 { return n.position[index] }

// At is the index of the node at a position, and its name as a JSON string.
func (n *NodeNames) At(position int32) (index int32, quoted []byte) {
	return n.names[position].index, n.quotedAt(position)
}

func (n *NodeNames) quotedAt(position int32) []byte {
	return n.text[n.offset[position]:n.offset[position+1]]
}
