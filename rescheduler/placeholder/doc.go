// Package placeholder tells kube-scheduler of the room that plans of the rescheduler keep, where it does not ask
// muster: for pods of profiles with gates: UntilPlace.
//
// A placeholder pod stands for a pod that is to come. A gate of its own ([v1alpha1.PlaceholderGate]) keeps it from ever
// being scheduled, and it is nominated to the node where the room is: so kube-scheduler keeps that room from pods of
// the same and of lower priority. It asks for what the pod to come asks for, with its priority, and for its host ports;
// it is in muster's own namespace, where neither the quota of a tenant nor the selector of a controller meets it, and is
// owned by its plan.
//
//	reservation in the view → placeholder pod → nominated → shown by the watch → the plan may begin
//	the pod comes, gated → it takes the reservation → it is nominated → the placeholder pod goes → its gate is lifted
//
// muster itself never counts placeholder pods: it knows the room by the reservations that they tell of.
//
// What holds:
//
//   - No plan is confirmed before the watch has shown its placeholder pods for as long as the scheduler may act on what it
//     saw before ([Options.Margin]).
//   - A placeholder pod is not nominated while it would keep out the pod of an earlier step on the same node.
//   - It never keeps out its own pod: it goes when that is nominated or let go, and the room of a replacement that is not
//     gated is given up when its step begins. It comes back for that plan no more.
//   - It keeps out no pod that a DaemonSet has for the node: the plan is given up.
//   - It goes when its plan has ended. The garbage collector of the cluster deletes placeholder pods of a
//     deleted plan.
//   - A scheduler that begins to lead knows of no gated pod that has not changed since: each placeholder pod is changed
//     then, and every minute.
package placeholder
