// Package placement finds places for several pods at once, as if each were put on its
// node before the next one is looked at. It is the one solver of muster: what picks a
// pod's node ahead of the scheduler, what plans a gang and what proves that evicted
// pods will find a new place ask it the same question.
//
// A [Plan] is about one snapshot, which it never changes:
//
//	plan := placement.New(store, pods, seed)
//	defer plan.Close()
//	plan.Put(other, node)               // a place that is held for somebody else
//	plan.Take(evicted, node)            // what if this pod were gone
//	outcome := plan.PlaceAll(pods, atLeast, deadline)
//
// [Plan.PlaceAll] is for pods that start together or not at all, [Plan.Place] for one, and
// [Evictions] for pods that others have to make room for.
//
// Pods of one equivalence class share what is known of the nodes, and the best node is
// found among the leaders of groups of nodes that are rated alike, so that the cost of
// a pod does not grow with the cluster. Given the same snapshot, pods and seed, a plan
// is the same.
package placement
