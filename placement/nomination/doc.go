// Package nomination places pending pods ahead of kube-scheduler and tells it where, by
// writing status.nominatedNodeName. The scheduler tries that node first and alone, with
// its own filters as the last word, and keeps its room from pods of lower or equal
// priority. So muster looks at all nodes for whole batches of pods, and a pod costs the
// scheduler what it would cost in a cluster of one node.
//
// A [Nominator] follows every pending pod of its profiles through these stages:
//
//	waiting → planning → held → writing → standing → taken → bound
//	   ↑                                     ↓         ↓
//	resting ←──────────────────────────── withdrawing ─┘
//
// With gates: UntilPlace a pod goes the same way while a scheduling gate keeps it from kube-scheduler, which need not
// know of muster. Its gate is lifted once the watch shows the nomination (standing). From then on it is followed like any
// other nominated pod; nobody may ever ask about it, so it may be bound without being taken.
//
// A pod whose nomination failed rests before it waits again. A pod whose nomination failed several times, or
// that somebody else nominated, is set aside.
//
// What holds at any time:
//
//   - A pod that is held, writing or standing counts on its node (see
//     [cluster.Cluster.AssumeAll]): the filter calls of other pods and later plans see it.
//     When the scheduler takes it up, that assumption becomes the filter call's.
//   - A nomination is written against the version of the pod that was planned, so that a
//     pod that changed, was bound or was nominated by somebody else in the meantime
//     refuses it.
//   - A nomination of somebody else, such as that of a preemption, is never touched.
//   - A nomination of muster's that stands while the plan is given up is taken back.
//   - A gate of ours has a [Reason] to be lifted after a bounded time ([Limits.NoPlace], [Limits.MaxGated]), whatever
//     becomes of the pod: no place, another profile, a group, a process before. Then it is lifted as soon as that
//     can be written. A pod that goes without a place is never planned again: it is kube-scheduler's.
//   - A pod that is not gated is never placed for a profile with gates: UntilPlace, unless it was let go with a place.
//   - Each nomination ends with one [Outcome]. One that failed is renewed on another node.
//
// The ordinary way stays open all the time: a pod that the scheduler takes up before its
// nomination is there is answered for like any other. Where the ordinary way is good
// enough (few pods wait, or kube-scheduler is quick) or writing is slow, nothing is nominated.
package nomination
