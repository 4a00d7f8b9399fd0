// Package reservation keeps the room that plans of the rescheduler count on.
//
// A [Keeper] follows the ReschedulingPlans, and makes two things of the plans that are being carried out:
//
//   - Reservations. Each replacement that is to come, and each pending pod that gets a place, has a placeholder
//     on the node ([cluster.Cluster.Reserve]). So every reader of the view of the cluster sees that the room is
//     taken: calls of kube-scheduler, preemption, plans of gangs, nomination, and other plans. When the pod
//     itself comes, it gets the room of the placeholder. A replacement is known by its controller and its
//     equivalence class, in a StatefulSet by its name as well. The plan names the pods that were there before
//     the eviction. No clocks are compared.
//   - Bans. A replacement does not return to the node that its kind leaves.
//
// A replacement of another class takes the room if it fits there. If not, all that the plan keeps is given up, and the
// plan is told: it must not be worse off than without a plan.
//
// The extender says of each plan that it does so ([Keeper.Confirm]). Nothing is evicted before: else
// a replacement could come before the plan is known here.
//
// Both are made of the objects and of nothing else, so they are there again after a restart of
// this process or of the rescheduler's. They end with the plan, and when it expires.
//
// A pod gets its room only on a node that the scheduler asks about. If that node is not asked about, the pod is
// treated as any other, except for the bans.
package reservation
