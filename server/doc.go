// Package server runs the extender: the view of the cluster, the verbs, the pages and the ports, wired.
//
// [New] wires everything in a straight line, each part complete when it is made: the election, usage, the
// profiles, the view of the cluster and its watches, what places pods ahead of calls, certificates, traces,
// and in front of them the verbs, the pages and the ports.
//
// The process is ready when the view is complete and, with leader election on, this replica leads. It stops
// in this order: what only the leader does is told to end, readiness is turned off and calls in flight
// finish, the last traces are sent, everything else ends, and the lease is given back.
package server
