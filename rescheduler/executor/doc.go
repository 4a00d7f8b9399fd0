// Package executor carries out ReschedulingPlans, one at a time and one step after the other:
//
//	reserve → check → evict → wait until the replacement is bound and ready → the next step
//
// A plan that is approved has its room kept from then on (package reservation). The extender says so in the
// plan, once it has looked whether the room is there by what it alone knows; nothing is evicted before. Before
// each step the rest of the plan is carried out on a model of the cluster as it is, with all predicates and
// rules. If that does not work any more, the plan has failed: nothing else is evicted, and the room is free
// again. Pods evicted by then have their places, as every part of a plan that is carried out leaves no pod
// without one. A step is not begun if too little time is left for its replacement: the plan has expired.
//
// All that is needed to go on is in the status of the plan, and each thing is written down
// before it is done: a process that is killed at any moment is followed by one that does what is
// left. The eviction itself may be asked for twice, and is granted once, as it is about the UID.
// Two executors cannot both act: one of them fails to write down what it is about to do.
//
// An eviction counts for budgets though its answer was lost and its plan has ended meanwhile, unless
// it is known that the pod stays.
//
//   - 429 says that a PodDisruptionBudget does not allow the eviction at present. It is tried
//     again, more and more rarely, as long as the plan leaves time for the replacement.
//   - 5xx, and an answer that is lost, do not say whether the eviction was granted. It is asked for again, and
//     until the watch has shown what became of it, it counts and the room is kept.
//   - A pod with several budgets cannot be evicted: it is not asked for, and the plan has failed.
//   - A replacement that does not come, is not bound or does not get ready in time, or that is
//     bound to the node which it left, has the plan fail.
package executor
