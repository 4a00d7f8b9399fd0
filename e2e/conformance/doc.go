// Package conformance holds muster's predicates and scores against the plugins of kube-scheduler whose names and
// meaning they carry.
//
// A [Scenario] is a small random cluster with pods that ask for a place in it, and a profile. It is put to both sides:
// to muster through the doors it has in production (configuration, cluster, profile), and to kube-scheduler's framework
// with its in-tree plugins, the feature gates at their defaults. For each plugin alone and for all of them together,
// both must give the same [Answer] to every pending pod on every node. Scores are compared among the nodes that fit, as
// kube-scheduler does it:
//
//	judge, err := conformance.NewJudge()
//	...
//	err = judge.Hear(ctx, conformance.Generate(seed))
//	fmt.Println(judge.Cases, judge.Disagreements, judge.First)
//
// A pending pod has no resources in its status: the kubelet of its node writes those, and it has none yet. Plugins run
// in kube-scheduler's order.
//
// Where a plugin of kube-scheduler fails, scheduling of the pod does, and muster must reject the node. A reason of
// kube-scheduler that names an object is repeated without the name, since muster's reasons are constant.
//
// A [History] is the other campaign: a cluster that changes at random, and what a verdict store remembers of it held
// against judgements that remember nothing.
//
// A [Placing] is the third: pods that are placed one after the other by a plan of muster and by kube-scheduler, both
// rated by kube-scheduler's scores.
//
// An [Interleaving] is the fourth: several pods are between filter and bind at a time, while the watch shows changes
// late. No binding of muster may be against kube-scheduler's filters by what muster could know then; see
// [Judge.HearBinding].
//
// [Judge.HearPreemption] is the fifth: whom muster would evict for a pod, against DefaultPreemption. It says where
// muster decides otherwise on purpose.
//
// All runs draw the same: seeds begin with 1, unless CONFORMANCE_SEED says otherwise. Of another seed it is not known how
// often something comes up, so that only what must hold is asserted. In short mode a campaign is smaller.
//
// To add a plugin, add its line to plugins, with what draws the fields and objects that it looks at. What is drawn for
// many plugins is in vocabulary.go and workloads.go.
package conformance
