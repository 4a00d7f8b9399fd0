// Package requeue has kube-scheduler try pods again that were refused and fit now, where it hears nothing
// of what has changed.
//
// kube-scheduler puts a pod that fits nowhere aside, until an event that may help or for five
// minutes. But much of the room for want of which pods are refused is kept by muster alone: for
// plans of gangs and nominations, for bindings of which the answer was lost, for pods that are
// expected, for plans of the rescheduler. When that is given up there is no event. The view of the
// cluster knows it all the same, whoever kept the room ([cluster.Snapshot.Freed]).
//
// Nor does kube-scheduler hear of all that muster's verdicts read, as the load of nodes. And what it hears
// of it may see first, and ask while muster's view is behind.
//
// So a [Requeuer] follows the pods that wait. When room was freed unseen, or anything has changed since
// muster refused them ([Requeuer.Refused]), those that were refused are placed for trial together, each as
// if those before it were there already, and those that get a place are woken. What follows:
//
//   - No wake-up is lost: a pod that waits is looked at after room was freed, be it refused before
//     or after, and again if waking it failed. What it was refused for does not matter, nor by whom.
//   - No refusal stands that muster would take back: it is looked at again while the cluster changes.
//   - Nobody is woken in vain as far as muster knows, and no more pods than there is room for.
//   - No pod is woken twice within its back-off, which doubles.
//   - A look takes few pods of each class, and none behind one that has no place.
//
// A change of an annotation reaches those that an extender has refused, and nobody else. To one
// that kube-scheduler's own NodeResourcesFit has refused no change of a pod is an event, only one
// that goes from a node, and a nomination that is taken back counts as that. It reaches all pods of
// the same or a lower priority. So it is the second attempt: for a pod that was woken, and after its
// back-off fits still and waits still, the first of all that do.
//
// A pod that muster let evict nobody for now ([Requeuer.Postponed]) is woken that way as well, once something was freed.
//
// A pod that preempts others is looked at while it waits for them to go, as kube-scheduler may miss
// that. It is the only room that is freed in sight of all for which a pod is woken.
//
// What was refused by a process or by profiles before the present ones is looked at once, as room
// that those kept is not known.
package requeue
