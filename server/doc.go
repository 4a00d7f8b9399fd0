// Package server is one muster process: it answers the extender verbs of a stock
// kube-scheduler from the view of the cluster, and shows itself to people.
//
// [Run] wires everything explicitly, in this order: the view of the cluster and
// its watches, the profiles, the verbs, the HTTP server, leader election. It is
// ready when the view is complete and, with leader election on, this process is
// the leader; it stops by turning readiness off, letting calls in flight finish
// and closing the rest in reverse order.
//
// A call of a verb passes through [Extender]: the body is bounded and read, the
// verb works on one snapshot, the answer is written at once. Nothing on that
// path waits for the API server but bind.
package server
