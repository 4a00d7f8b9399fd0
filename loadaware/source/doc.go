// Package source brings what nodes and their pods use into the view of the cluster.
//
//	NodeMetric objects ──────────────┐
//	metrics.k8s.io ──┐               ├──→ Keeper ──→ cluster.SetUsage
//	Prometheus ──────┴──→ Poller ────┘
//	                        └──────→ another Follower
//
// Whatever the source, a report about a node is one [cluster.Usage], told to a [Follower]. NodeMetrics
// are watched and carry all of it. The other two are [Reader]s, which a [Poller] asks again and
// again: it adds what the node uses beside its pods and, from the [history] that it keeps,
// averages and percentiles.
//
// What holds at any time:
//
//   - Nothing waits for a source. While it cannot be reached the last figures stay, and get older: their
//     readers decide what that means. [Health] says it once to people.
//   - The [Keeper] alone lets time pass: it sets the usage of a node when there is a report,
//     and once more when its age crosses a length of time that somebody cares about.
//   - Figures are never mixed: a report has all of a node or does not come.
//   - A figure of a node that nobody can believe is a [Refusal]: that node is not measured, and all others are.
package source
