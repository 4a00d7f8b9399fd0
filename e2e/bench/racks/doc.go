// Package racks replays jobs that arrive on clusters of racks, and compares what is left whole when different rules place them.
//
// Time is simulated, and a run is the same every time for a seed. muster's side is its real code: a view of the cluster, a profile
// with the plugin WholeDomains, and plans of package placement, which divide gangs by package placement/topology. The rules of
// other projects are re-implemented here, each from its documentation, and held against the cases that are documented there.
// Where a rule leaves open which of equal domains it takes, it takes the first by name, as Kueue does. That helps it: a
// kube-scheduler takes any of them, which strews pods.
//
// All rules have the same jobs, which run for the same time, and the same queue: a job that has no place waits, and whenever
// another one ends all jobs that wait are tried in their order, the smaller ones past the larger ones. A gang asks for one rack,
// or for one block if no rack is large enough. Nobody knows how long a job runs.
package racks
