// Package extender answers the verbs of a stock kube-scheduler from the view of the cluster: filter,
// prioritize, preempt and bind.
//
// A call is answered on one snapshot. Its body is bounded and read, the verb judges, and the answer is
// written at once. Nothing on that path waits for the API server but bind.
//
// A caller posts the name of a pod and a question. Everything that outlives the answer is decided by the state
// in which the watch shows the pod of that UID. A pod that the watch does not show is a stranger: it is judged
// alone, and nothing is kept of it.
//
// Several claim a pod before it is placed for itself, and are asked in this order: a binding that may
// still be made, its gang, a reservation of the rescheduler, and its nomination. The first that answers
// decides.
//
// bind believes nobody. It binds a pod that waits, of a profile, on a node that filter has offered for it
// and that it still fits. The pod is judged and counted there in one step, so no two calls take the same
// room.
package extender
