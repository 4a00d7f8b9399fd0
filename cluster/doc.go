// Package cluster is the one view of the Kubernetes cluster that every part of
// muster shares.
//
// Events (from the informers of a [Watcher], from a dump by [Cluster.Load], or
// from muster's own decisions) are applied one after the other by a single
// writer, which publishes immutable [Snapshot]s:
//
//   - Nodes stand under dense indexes, so that verdicts and scores can be kept
//     in slices. An index is stable while its node exists and is reused after.
//   - A [Node] is never changed. When something on it changes, the writer
//     replaces it, so holding a snapshot is free and reading it needs no lock.
//   - What is part of no node (volumes, services, namespaces, …) is one value,
//     [Objects], which snapshots share until something in it changes.
//   - A journal says, for every generation, which node or object changed in
//     which [Aspect]; a reader that remembers a generation learns from
//     [Snapshot.Since] what it has to look at again.
//   - A pod whose place is known but not yet seen by the watch is *assumed*:
//     it counts on its node until the watch confirms or refutes it, or until
//     it expires.
//
// A [Cluster] is one lock over four parts, and none of them knows the lock: the view makes snapshots and keeps
// the journal; the ledger says where pods count, assumed, held and expected ones included; the fleet assembles
// nodes from everything known about them; a fourth part keeps the waiting pods and tells their followers.
//
// Anything that depends on more than one read takes one snapshot and stays
// with it:
//
//	snap := c.Snapshot()
//	for node := range snap.Nodes() {
//		free := node.Allocatable.MilliCPU - node.Requested.MilliCPU
//		...
//	}
//
// The package depends on no other package of muster but api.
package cluster
