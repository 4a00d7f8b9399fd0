// Package simulation replays jobs in simulated time on muster's own parts: the view of the cluster, verdicts, gangs and room in time,
// beside a scheduler that calls them. Settings are chosen by it before they are used. A [World] is a cluster whose pods end in time.
// [Replay] has the jobs of a trace come to one, and tells how they fared.
package simulation
