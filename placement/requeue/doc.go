// Package requeue has kube-scheduler try pods again that were refused and fit now, where it hears nothing
// of what has changed.
//
// kube-scheduler puts a pod that fits nowhere aside, until an event that may help or for five minutes. But much
// of the room whose want refuses pods is kept by muster alone: for plans of gangs and nominations, for bindings
// whose answer was lost, for pods that are expected, for plans of the rescheduler. Giving such room up is no
// event. The view of the cluster knows it all the same, regardless of who kept the room
// ([cluster.Snapshot.Freed]).
//
// Nor does kube-scheduler hear of all that muster's verdicts read, as the load of nodes. And what it hears
// of it may see first, and ask while muster's view is behind.
//
// So a [Requeuer] follows the waiting pods. When room was freed unseen, or anything has changed since muster
// refused them ([Requeuer.Refused]), it places the refused pods for trial together, each as if the ones before
// it were there already, and wakes the pods that get a place. What follows:
//
//   - No wake-up is lost: a pod that waits is looked at after room was freed, be it refused before or after,
//     and again if waking it failed. The reason for the refusal and its author do not matter.
//   - No refusal stands that muster would take back: it is looked at again while the cluster changes.
//   - Nobody is woken in vain as far as muster knows, and no more pods than there is room for.
//   - No pod is woken twice within its back-off, which doubles.
//   - A look takes few pods of each class, and none behind one that has no place.
//
// A change of an annotation reaches the pods that an extender has refused, and no others. For a pod that
// kube-scheduler's own NodeResourcesFit has refused no change of a pod is an event, except one that leaves a
// node; a nomination that is taken back counts as that. Such an event reaches all pods of the same or a lower
// priority. So it is the second attempt: for the first of all pods that were woken, and after their back-off
// still fit and still wait.
//
// A pod that muster let evict nobody yet ([Requeuer.Postponed]) is woken that way as well, once something was freed.
//
// A pod that preempts others is looked at while it waits for them to go, as kube-scheduler may miss that. No
// other pod is woken for room that everybody saw freed.
//
// Pods refused by a former process or by former profiles are looked at once, as the room that these kept is not
// known.
package requeue
