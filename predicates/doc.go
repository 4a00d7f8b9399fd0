// Package predicates decides on which nodes a pod can run, and which of them
// suit it best.
//
// A [Predicate] is one reason why a node may not take a pod; a [Score] is one
// reason to prefer it. Both carry the names and the meaning of kube-scheduler's
// plugins, and both are asked in two steps, so that what depends only on the
// pod is worked out once and the work per node is small:
//
//	profile, err := predicates.NewProfile(config)
//	...
//	snap := c.Snapshot()
//	judgement := profile.Judge(pod, snap)
//	for node := range snap.Nodes() {
//		if verdict := judgement.Verdict(node); verdict != predicates.Fits {
//			log.Print(node.Name, profile.Reason(verdict, pod))
//		}
//	}
//
// A [VerdictStore] remembers judgements by equivalence class, and a [View] of it says
// the same as a fresh one.
//
// Every predicate declares the aspects of the cluster that its verdict depends
// on. Reading anything else in a Check is a bug.
//
// Reasons are constant strings: a changing one would patch the pod's condition,
// and that would put the pod back into the scheduler's queue.
package predicates
