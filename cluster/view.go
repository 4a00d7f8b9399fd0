package cluster

import (
	"slices"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"
)

// view is the changing side of snapshots: the nodes, the objects that belong to no node, and a journal of the
// changes. Every change goes through it. Callers hold the lock of the cluster, except for fresh.
type view struct {
	// stale says that the published snapshot lacks a change.
	stale     atomic.Bool
	published atomic.Pointer[Snapshot]

	generation uint64
	freed      uint64 // the last generation of a change that freed room unseen
	unforeseen uint64 // and of one that no assumption accounts for
	journal    journal

	nodes        nodeTableWriter
	domains      *domainsWriter
	index        map[string]int32
	indexChanged bool
	vacant       []int32 // indexes of removed nodes

	objects        *objectsWriter
	objectsChanged bool
}

// begin makes it the view of an empty cluster.
func (v *view) begin() {
	v.domains, v.index, v.objects = newDomainsWriter(), map[string]int32{}, newObjectsWriter()
	v.indexChanged, v.objectsChanged = true, true
	v.stale.Store(true)
}

// fresh returns the published snapshot, nil when it lacks a change. It takes no lock.
func (v *view) fresh() *Snapshot {
	if v.stale.Load() {
		return nil
	}
	return v.published.Load()
}

// publish returns a snapshot of the present state.
func (v *view) publish() *Snapshot {
	last := v.published.Load()
	if !v.stale.Load() {
		return last
	}
	next := &Snapshot{Generation: v.generation, Freed: v.freed, Unforeseen: v.unforeseen, nodes: v.nodes.publish()}
	var anew bool
	if next.domains, anew = v.domains.publish(&next.nodes); anew {
		v.journal.forget(v.generation)
	}
	next.journal = v.journal
	if v.indexChanged {
		next.NodeNames, v.indexChanged = newNodeNames(v.index, v.nodes.end), false
	} else {
		next.NodeNames = last.NodeNames
	}
	if v.objectsChanged {
		next.Objects, v.objectsChanged = v.objects.publish(), false
	} else {
		next.Objects = last.Objects
	}
	v.published.Store(next)
	v.stale.Store(false)
	return next
}

// record enters a change of a node in the journal. The caller has applied
// the change.
func (v *view) record(node int32, aspects Aspect) {
	v.enter(Change{Node: node, Aspects: aspects})
	if aspects&AspectLabels != 0 {
		v.domains.changed.Insert(node)
	}
}

// recordObject is record for an object that is part of no node.
func (v *view) recordObject(aspect Aspect, object types.NamespacedName) {
	v.enter(Change{Node: -1, Aspects: aspect, Object: object})
	v.objectsChanged = true
}

func (v *view) enter(change Change) {
	v.generation++
	change.Generation = v.generation
	v.journal.append(change)
	v.stale.Store(true)
}

// changedSince reports whether one of some aspects has changed, of any node or object, since a generation.
func (v *view) changedSince(generation uint64, aspects Aspect) bool {
	changes, reaches := v.journal.since(generation)
	return !reaches || slices.ContainsFunc(changes, func(change Change) bool { return change.Aspects&aspects != 0 })
}

// replace puts a new state in the place of a node.
func (v *view) replace(node *Node, aspects Aspect) {
	v.nodes.set(node.Index, node)
	v.record(node.Index, aspects)
}

// surprise is replace for a change that no assumption accounts for.
func (v *view) surprise(node *Node, aspects Aspect) {
	v.replace(node, aspects)
	v.unforeseen = v.generation
}

// node returns the present state of a node, nil when it is not known.
func (v *view) node(name string) *Node {
	if i, ok := v.index[name]; ok {
		return v.nodes.at(i)
	}
	return nil
}

// nextIndex returns the index that a new node is to have.
func (v *view) nextIndex() int32 {
	if last := len(v.vacant) - 1; last >= 0 {
		return v.vacant[last]
	}
	return int32(len(v.index)) //nolint:gosec // a cluster has fewer than 2³¹ nodes
}

// addNode takes a new node in, under the next index.
func (v *view) addNode(node *Node) {
	if last := len(v.vacant) - 1; last >= 0 {
		v.vacant = v.vacant[:last]
	}
	v.index[node.Name], v.indexChanged = node.Index, true
	v.surprise(node, AspectNode)
}

// dropNode takes a node out, and its index may be given to another one.
func (v *view) dropNode(node *Node) {
	delete(v.index, node.Name)
	v.indexChanged = true
	v.vacant = append(v.vacant, node.Index)
	v.nodes.set(node.Index, nil)
	v.record(node.Index, AspectNode)
	v.unforeseen = v.generation
}
