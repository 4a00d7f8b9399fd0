// Package loadreplay replays measured CPU usage on pods that arrive in bursts, and compares what
// becomes of nodes when different rules place the pods.
//
// Time is simulated: a run is a queue of events, is the same every time for a seed, and does not
// hang on the machine. muster is asked over its real handlers, filter, prioritize and bind; the
// other [Rule]s are formulas in this package. What stands around them is the same for all: a
// model of kube-scheduler (one pod at a time, its own check of requests, a sample of the nodes,
// binding on the side), and nodes that report once a minute what they and their pods used.
package loadreplay
