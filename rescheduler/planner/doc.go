// Package planner works out which pods to move, and in which order, so that others get a
// place, nodes become empty or pods leave their nodes. It changes nothing and asks nobody: a
// [Problem] is data, and so is the [Plan] that comes of it.
//
//	problem := &planner.Problem{Snapshot: snap, Profiles: profiles, Clock: clock.RealClock{}}
//	plan := problem.MakeRoom(problem.Pending(pods))
//	for _, step := range plan.Steps {
//		fmt.Println(step.Pod.Name, step.From.Name, "->", step.To.Name, step.Why)
//	}
//
// What holds of every plan:
//
//   - Each step has a place to go to. When it is its turn, and the steps before it are done, the target takes
//     the pod by every predicate of its profile. The same holds of the pods that room is made for. So a plan
//     may end after any step, and no pod is left without a place.
//   - No pod is moved that the [Rules] protect, and no more than the [Budgets] and the
//     PodDisruptionBudgets allow for the plan as a whole.
//   - Gangs are moved whole or not at all. Pending gangs get the number of places that they need to start,
//     or none.
//   - Nobody makes room for a pod of lower priority, unless the rules say so.
//   - A pod that is to leave goes where the scores of its profile prefer it, if that has room.
//   - No pod moves to a node that one of its kind leaves.
//   - Given the same problem and the same time, it is the same.
//
// # How it searches
//
// The search reasons in amounts of resources, and the predicates have the last word. A pod without a place goes
// to a node with room or ejects the cheapest set of pods there. Each ejected pod is found a place in the same
// way, up to [Limits].Hops times in a row (an ejection chain). Then parts of the result are taken back and built
// again, as long as that pays (ruin and recreate: Schrimpf et al., 2000; Christiaens and Vanden Berghe, 2020).
// The result is put in an order in which each step has room, and is carried out on a model of the cluster with
// all predicates (a proof). Where one of them objects, that pod is kept off that node and the search restarts.
//
// # Its parts
//
// A state says where the pods are and what room that leaves; its log lets any part take back what it did. Each part
// knows those before it, and no part knows the search:
//
//   - roster: which pods may be moved, and which only together; queue: the groups that wait.
//   - standings: what the predicates have against a pod on a node, room aside; rehearsal: what they say when moves
//     are carried out.
//   - homes: places where there is room; evictions: who would have to leave for it; insertion: both, several moves
//     in a row.
//   - purposes: what pods move for; audit: whether a state may be a plan; savings: who need not move after all.
//   - placing, clearing, freeing, departures and relief: what MakeRoom, Coalesce, FreeDomains, Relocate and Relieve
//     search for.
//   - author and refusals: the plan, in words.
package planner
