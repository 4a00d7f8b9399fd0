// Package app runs the processes of muster: their parts, the way to the API server, the election, ports, profiles and usage.
//
// Both processes, the extender's and the rescheduler's, are wired of it in a straight line.
//
// A process is a list of Components and a list of Stops. Components run from the start, or from when the
// view of the cluster is complete, or from when the process leads. Stops are carried out last in, first
// out, so what was begun last ends first. The lease is given back when everything else has ended: no two
// replicas act at a time.
//
// Every value is complete when it is constructed, and is set in motion by Run alone.
package app
