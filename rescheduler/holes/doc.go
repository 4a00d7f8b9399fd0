// Package holes keeps the room that plans of the rescheduler count on.
//
// A [Keeper] follows the ReschedulingPlans and makes two things of those that are being carried
// out:
//
//   - Holes. For each replacement that is to come, and each pending pod that gets a place, a pod
//     that does not exist is held on the node ([cluster.Cluster.Hold]). So whoever looks at the
//     view of the cluster sees that the room is taken: calls of kube-scheduler, preemption,
//     plans of gangs, nomination, and other plans. When the pod itself comes, which is known by
//     its controller and its equivalence class, it has the hole exchanged for its own place.
//   - Bans. A replacement does not return to the node that its kind leaves.
//
// The extender says of each plan that it does so ([Keeper.Confirm]), and nothing is evicted before: else
// a replacement could come before the plan is known here.
//
// Both are made of the objects and of nothing else, so they are there again after a restart, of
// this process or of the rescheduler's. They end with the plan, and when it expires.
//
// A pod that has a hole but does not get it, as its node was not among those that the scheduler
// asked about, is treated as any other, but for the bans.
package holes
