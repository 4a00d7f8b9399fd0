// Package scaleup tells which waiting pods only more nodes would help: moving others was shown not to make room
// for them.
//
// A [Teller] says so in a condition and an event of each such pod and in a metric, and by choice
// asks a cluster autoscaler for nodes, in a ProvisioningRequest for each pod or gang:
//
//	plan without budgets ─ Judge → Verdict ─ Tell → conditions, events, ProvisioningRequests
//
// It remembers nothing that the API server does not: what was told of a pod stands on the pod,
// and a request is known by its name.
//
// A change of a pending pod may have kube-scheduler try it again: it does so, once its pause is over, with a
// pod that an extender had a part in refusing, and not with one that its own plugins refused
// (PriorityQueue.Update in pkg/scheduler/backend/queue, and the events that pkg/scheduler/framework/runtime
// registers for extenders). So a condition is written once for each change of its reason, and its message is
// that of the moment.
package scaleup
