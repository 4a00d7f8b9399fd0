// Package app is what the processes of muster have in common: how their parts start and stop, who leads,
// where they listen, which profiles are in force, and where the usage of nodes comes from.
//
// A process is a list of Components and a list of Stops. Components run from the start, or from when the
// view of the cluster is complete, or from when the process leads. Stops are carried out last in, first
// out, so what was begun last ends first. The lease is given back when everything else has ended: no two
// replicas act at a time.
//
// Every value is complete when it is constructed, and is set in motion by Run alone.
package app
