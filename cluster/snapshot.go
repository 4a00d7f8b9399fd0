package cluster

import (
	"encoding/json"
	"iter"
	"maps"
	"math/bits"
	"sync"
)

// Snapshot is the cluster at one generation. It is immutable and safe for
// concurrent use.
type Snapshot struct {
	// Generation counts the changes of the cluster since the start.
	Generation uint64
	// Freed is the last generation at which room became free without a trace at the API server, 0 for none.
	// kube-scheduler does not retry the pods that were refused for want of such room.
	Freed uint64
	// Unforeseen is the generation of the last change of a node that no assumption accounts for: of
	// its objects, by a pod that the watch showed there without its having been assumed there, or by a pod
	// or node that went, which others may have had to be near, or to be spread with. Since then pods have
	// come only where they were judged with all others counted.
	Unforeseen uint64
	// NodeNames are the names of the nodes and their indexes.
	NodeNames *NodeNames

	// Objects are the objects that belong to no node, shared with the snapshot before if none of them changed.
	*Objects

	nodes   nodeTable
	domains *domainTables
	journal journal
}

// NodeCount returns the number of nodes.
func (s *Snapshot) NodeCount() int { return s.NodeNames.Len() }

// IndexEnd is one more than the greatest index that was ever in use.
func (s *Snapshot) IndexEnd() int { return s.nodes.end }

// Node returns the node under an index, nil when there is none.
func (s *Snapshot) Node(index int32) *Node { return s.nodes.at(index) }

// NodeByName returns the node of a name, nil when there is none.
func (s *Snapshot) NodeByName(name string) *Node {
	if i, ok := s.NodeNames.index[name]; ok {
		return s.nodes.at(i)
	}
	return nil
}

// Nodes walks over all nodes by index.
func (s *Snapshot) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, chunk := range s.nodes.chunks {
			for _, node := range chunk.nodes {
				if node != nil && !yield(node) {
					return
				}
			}
		}
	}
}

// Offered returns what all nodes offer to pods, except their number.
func (s *Snapshot) Offered() (all Resources) {
	for node := range s.Nodes() {
		all = all.Plus(&node.Allocatable)
	}
	return all
}

// Having returns the indexes of the nodes that have a trait, in their order. It costs little where these are few.
func (s *Snapshot) Having(trait Trait) []int32 {
	var having []int32
	for i, chunk := range s.nodes.chunks {
		for left := chunk.having[trait]; left != 0; left &= left - 1 {
			having = append(having, int32(i*chunkSize+bits.TrailingZeros64(left))) //nolint:gosec // a cluster has fewer than 2³¹ nodes
		}
	}
	return having
}

// Holding returns the indexes of the nodes that hold one of the images at least, by a name that nodes have for it, in their order.
// It costs little where these are few, as Having does, once the names are indexed: the first call after a node's images
// changed does that for the node and its neighbours in the table.
func (s *Snapshot) Holding(images ...string) []int32 {
	var holding []int32
	for i, chunk := range s.nodes.chunks {
		for left := chunk.holding(images); left != 0; left &= left - 1 {
			holding = append(holding, int32(i*chunkSize+bits.TrailingZeros64(left))) //nolint:gosec // a cluster has fewer than 2³¹ nodes
		}
	}
	return holding
}

// Since returns what changed after a generation up to this snapshot, oldest
// first. It says false when the journal does not reach back that far: then
// everything may have changed. The result is shared and must not be changed.
func (s *Snapshot) Since(generation uint64) ([]Change, bool) { return s.journal.since(generation) }

// chunkSize is the number of bits in a word.
const chunkSize = 64

type nodeChunk struct {
	nodes  [chunkSize]*Node
	having [traits]uint64 // a bit for each node that has the trait
	images *imageIndex    // shared with the chunk before if no node's images changed; nil while no node holds any
}

// imageIndex tells which nodes of a chunk hold an image. It is made when it is asked for first.
type imageIndex struct {
	once    sync.Once
	holding map[string]uint64 // by name: a bit for each node that holds it
}

// holding returns a bit for each node that holds one of the images.
func (c *nodeChunk) holding(images []string) (holding uint64) {
	if c.images == nil {
		return 0
	}
	c.images.once.Do(func() {
		c.images.holding = map[string]uint64{}
		for at, node := range c.nodes {
			for _, image := range node.images() {
				for _, name := range image.Names {
					c.images.holding[name] |= 1 << at
				}
			}
		}
	})
	for _, image := range images {
		holding |= c.images.holding[image]
	}
	return holding
}

// set puts a node in a place, nil for none.
func (c *nodeChunk) set(at int32, node *Node) {
	if before := c.nodes[at]; !before.sameImages(node) {
		c.images = new(imageIndex)
	}
	c.nodes[at] = node
	for trait := range c.having {
		c.having[trait] &^= 1 << at
		if node != nil && node.has(Trait(trait)) {
			c.having[trait] |= 1 << at
		}
	}
}

// nodeTable is an immutable array of nodes in chunks, so that a changed node
// costs a copy of its chunk and of the list of chunks.
type nodeTable struct {
	chunks []*nodeChunk
	end    int
}

func (t *nodeTable) at(index int32) *Node {
	if index < 0 || int(index) >= t.end {
		return nil
	}
	return t.chunks[index/chunkSize].nodes[index%chunkSize]
}

// nodeTableWriter is the changing side of a nodeTable.
type nodeTableWriter struct {
	chunks []*nodeChunk
	owned  []bool // chunks that no published table shares
	end    int
}

func (w *nodeTableWriter) at(index int32) *Node {
	return w.chunks[index/chunkSize].nodes[index%chunkSize]
}

func (w *nodeTableWriter) set(index int32, node *Node) {
	chunk := int(index / chunkSize)
	for chunk >= len(w.chunks) {
		w.chunks, w.owned = append(w.chunks, new(nodeChunk)), append(w.owned, true)
	}
	if !w.owned[chunk] {
		mine := *w.chunks[chunk]
		w.chunks[chunk], w.owned[chunk] = &mine, true
	}
	w.chunks[chunk].set(index%chunkSize, node)
	w.end = max(w.end, int(index)+1)
}

func (w *nodeTableWriter) publish() nodeTable {
	clear(w.owned)
	return nodeTable{chunks: append([]*nodeChunk(nil), w.chunks...), end: w.end}
}

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
