// Package campaign looks for what nomination breaks. On a real control plane, with one
// kube-scheduler of two profiles, it lets pods come and go, nodes be lost and return,
// muster be killed and started again, and the cluster be too small for a while, and
// judges the whole history:
//
//   - No node is ever overcommitted. Every binding is held against what the API server
//     says was on the node at that very resource version.
//   - No pod waits longer than without nomination: the same stream of events runs with
//     nodeSelection: Nominate and with Extender, which is the same muster without
//     nominations, so that their difference is what nomination does.
//   - No nomination of muster's is left for longer than 30 s on a pod that muster has
//     no plan for.
//   - kube-scheduler takes no answer of muster's for an error.
//
// The stream is a function of a seed ([Options]). It has three seasons. In the calm one
// at most half of the cluster is asked for, so that a wait is the time of the machinery
// and not for room: waits of pods that come then are judged. In the crowded one more is
// asked for than there is, so that pods are preempted and others stay pending. In the
// outage muster is killed. A wait counts for the season in which the pod comes: that is
// the same in every run.
//
// A machine is not equally fast all the time. So a round runs with nomination, twice
// without and once more with it, and what counts is the median over all pairs of runs
// that follow each other. One more run of each round nominates whenever a pod waits, to
// find more. A campaign in which little happened proves nothing and fails.
package campaign
