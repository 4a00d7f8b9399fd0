package cluster

import (
	"encoding/json"
	"maps"
)

// NodeNames is the table of the node names of a snapshot. It is immutable, and
// snapshots between which no node came or went share one: while its pointer is the
// same, an index stands for the same name.
type NodeNames struct {
	index map[string]int32
	names []string // by index, "" where there is no node
	// text holds the names as JSON strings, one behind the other by index, so that
	// writing thousands of them does not walk all over the memory.
	text   []byte
	offset []uint32 // the name of index i is text[offset[i]:offset[i+1]]
}

func newNodeNames(index map[string]int32, end int) *NodeNames {
	n := &NodeNames{index: maps.Clone(index), names: make([]string, end), offset: make([]uint32, 1, end+1)}
	for name, i := range index {
		n.names[i] = name
	}
	for _, name := range n.names {
		if name != "" {
			quoted, err := json.Marshal(name)
			if err != nil {
				panic(err) // a string always has a JSON form
			}
			n.text = append(n.text, quoted...)
		}
		n.offset = append(n.offset, uint32(len(n.text))) //nolint:gosec // names of a few hundred bytes, far fewer than 2²⁴
	}
	return n
}

// Len returns the number of names.
func (n *NodeNames) Len() int { return len(n.index) }

// Joined reports whether there is a node now that was not there before.
func (n *NodeNames) Joined(before *NodeNames) bool {
	for name := range n.index {
		if _, there := before.index[name]; !there {
			return true
		}
	}
	return false
}

// End is one more than the greatest index that was ever in use.
func (n *NodeNames) End() int { return len(n.names) }

// Index returns the index of a name, -1 when there is no such node.
func (n *NodeNames) Index(name []byte) int32 {
	if i, ok := n.index[string(name)]; ok {
		return i
	}
	return -1
}

// Name returns the name under the index of a node.
func (n *NodeNames) Name(index int32) string { return n.names[index] }

// Quoted returns the name under an index as a JSON string, empty when there is none. It
// must not be changed.
func (n *NodeNames) Quoted(index int32) []byte {
	if index < 0 || int(index) >= len(n.names) {
		return nil
	}
	return n.text[n.offset[index]:n.offset[index+1]]
}
