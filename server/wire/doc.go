// Package wire reads and writes the messages of k8s.io/kube-scheduler/extender/v1
// that carry one entry per node. They are large (a name per node, thousands of
// times a second), so they are streamed: names are slices of the request's body,
// and an answer is appended to one buffer. The small messages are left to
// encoding/json.
package wire
