// Package nodemetric reads, configures and fills in NodeMetrics.
//
//	watch ──Trim──→ Observed ──→ Source ──→ a follower of usage
//	                    └──────→ Controller ──→ spec       (of the leader, on request)
//	         another source ───→ Reporter ────→ status     (of the leader, on request)
//
// A NodeMetric is kept as what is read of it, an [Observed]: its spec, and its status as a
// [cluster.Usage].
//
// The [Controller] has a NodeMetric for each node. The [Policy] of a ConfigMap says its spec for that node. It
// writes no status. The [Reporter] writes nothing else. A NodeMetric that nobody reports for keeps pods off its
// node, so a cluster without koordlet needs both.
package nodemetric
