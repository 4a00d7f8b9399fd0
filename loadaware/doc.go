// Package loadaware is the plugin LoadAware: it keeps pods off nodes that are busy, or are about to be, and
// prefers the least busy nodes. It looks at measurements of nodes, and adds an estimate of what they do not
// show yet. The rules, and the names of annotations and labels, are Koordinator's ("Load-aware Scheduling", a
// proposal of that project).
//
// The estimate of a node, if a pod goes there, is
//
//	base      what was measured: of the node, a statistic of it, or of its pods of class prod
//	+ delta   for each pod on it that the measurement does not show in full, what its
//	          estimate is above what it shows
//	+ pod     the estimate of the pod
//
// The estimate is a sum over pods, and everything in it is read off a [cluster.Node]: pods that are assumed, or
// supposed in a plan, count because they are on the node, and pods that kube-scheduler is about to put there
// count as well ([cluster.Node.Expected]). Time is read off the node too: as the age of the measurement when it
// was last looked at ([cluster.Usage.Age]). So the verdict store remembers the plugin's verdicts, and asks it
// again about nodes that changed.
//
// A [LoadAware] belongs to one profile. The resources that it looks at are fixed when it is made, and amounts
// of them are short vectors of integers: CPU in thousandths, memory in bytes. It keeps its results for a node
// until the node changes, so that a verdict and a score cost a few comparisons and divisions, and no memory.
package loadaware
