// Package soak runs muster on a real control plane for long while everything in the cluster is
// replaced again and again, and looks whether what it keeps grows.
//
// The cluster stays at one size, and nothing in it stays the same: pods, gangs, namespaces, nodes and
// NodeMetrics come and go within half a minute, with labels, topology keys and resources that nothing
// has had before; and somebody asks the verbs about pods that do not exist. So an hour has the new
// names of months of a cluster whose pods live for a day.
//
// At intervals the churn pauses, and muster tells the size of its heap after a collection, and how
// many goroutines it has. After a warm-up, in which caches of a bounded size fill, neither may grow.
package soak
