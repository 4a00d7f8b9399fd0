package racks

import (
	"time"

	"muster.dev/muster/placement/topology"
)

// wholeGPU is one GPU, in thousandths.
const wholeGPU = 1000

// The levels of the networks of this package, as in package topology.
const (
	levelBlock = 1 + iota
	levelRack
	levelNode
)

// shape is a cluster of racks that are alike.
type shape struct {
	name string
	// There are blocks of racks of nodes with GPUs.
	blocks, racks, nodes, gpus int
}

// capacity is how many GPUs there are, in thousandths.
func (s shape) capacity() int64 { return int64(s.blocks*s.racks*s.nodes) * s.node() }

// node is the size of a node, in thousandths of a GPU.
func (s shape) node() int64 { return int64(s.gpus) * wholeGPU }

// job is pods that are alike and end at the same time.
type job struct {
	id      int
	arrives time.Duration // since the start
	runs    time.Duration // from when all of its pods have places
	pods    int
	gpu     int64 // of each pod, in thousandths
}

func (j *job) asked() int64 { return int64(j.pods) * j.gpu }

// gang reports whether pods of the job are of use only together.
func (j *job) gang() bool { return j.pods > 1 }

// node is a node of a world.
type node struct {
	block, rack int
	has, free   int64 // thousandths of GPUs
}

// world is the state of a cluster.
type world struct {
	nodes []node // the ones of a rack side by side, and the racks of a block
	racks []rack
}

// rack is a rack of a world.
type rack struct {
	block     int
	has, free int64
}

// world returns a cluster of the shape without a job.
func (s shape) world() *world {
	w := &world{}
	nodes := make([]int64, s.nodes)
	for i := range nodes {
		nodes[i] = s.node()
	}
	for i := range s.blocks * s.racks {
		w.add(i/s.racks, nodes...)
	}
	return w
}

// add adds a rack of nodes to a block.
func (w *world) add(block int, nodes ...int64) {
	r := rack{block: block}
	for _, has := range nodes {
		w.nodes = append(w.nodes, node{block, len(w.racks), has, has})
		r.has += has
	}
	r.free = r.has
	w.racks = append(w.racks, r)
}

// slots returns how many pods of a job each node takes.
func (w *world) slots(j *job) []int {
	slots := make([]int, len(w.nodes))
	for i := range w.nodes {
		slots[i] = int(w.nodes[i].free / j.gpu)
	}
	return slots
}

// fits reports whether a job has room in one domain of a level.
func (w *world) fits(j *job, within int) bool {
	room, at := 0, -1
	for i := range w.nodes {
		n := &w.nodes[i]
		domain := 0
		switch within {
		case levelBlock:
			domain = n.block
		case levelRack:
			domain = n.rack
		}
		if domain != at {
			room, at = 0, domain
		}
		if room += int(n.free / j.gpu); room >= j.pods {
			return true
		}
	}
	return false
}

// put takes what the pods of a job need, times 1, or gives it back, times -1.
func (w *world) put(j *job, places []topology.Share, times int64) {
	for _, share := range places {
		n := &w.nodes[share.Node]
		need := times * int64(share.Pods) * j.gpu
		n.free -= need
		w.racks[n.rack].free -= need
	}
}

// within returns the level of the one domain that is to have all pods of a job: the lowest one with enough room when nothing runs,
// 0 for the cluster.
func (s shape) within(j *job) int {
	switch rack := s.nodes * int(s.node()/j.gpu); {
	case !j.gang():
		return 0
	case j.pods <= rack:
		return levelRack
	case j.pods <= s.racks*rack:
		return levelBlock
	}
	return 0
}

// wholeRacks counts the racks without a job.
func (w *world) wholeRacks() (whole int) {
	for _, r := range w.racks {
		if r.free == r.has {
			whole++
		}
	}
	return whole
}
