// Package conformance holds muster's predicates and scores against the plugins of
// kube-scheduler whose names and meaning they carry.
//
// A [Scenario] is a small random cluster with pods that ask for a place in it, and a
// profile. It is put to both sides: to muster through the doors it has in production
// (configuration, cluster, profile), and to kube-scheduler's framework with its in-tree
// plugins, the feature gates at their defaults. For each plugin alone and for all of
// them together, both must give the same [Answer] to every pending pod on every node:
//
//	judge, err := conformance.NewJudge(ctx)
//	...
//	err = judge.Hear(ctx, conformance.Generate(seed))
//	fmt.Println(judge.Cases, judge.Disagreements, judge.First)
//
// A pending pod has no resources in its status: the kubelet of its node writes those, and
// it has none yet. Plugins run in kube-scheduler's order.
//
// To add a plugin, add its line to plugins.
package conformance
