// Package wire reads and writes the messages of k8s.io/kube-scheduler/extender/v1
// that carry one entry per node. They are large (a name per node, thousands of
// times a second), so they are streamed: names are slices of the request's body,
// and an answer is appended to one buffer. Small answers are left to encoding/json.
//
// Anybody may have written a request. Of what is in it only that is kept which counts,
// and a pod is decoded within bounds (see the package api/bounded).
package wire
