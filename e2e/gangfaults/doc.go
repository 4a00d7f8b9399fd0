// Package gangfaults looks for what breaks gangs. On real control planes, with a stock
// kube-scheduler, KWOK for machines and muster between relays that spoil calls, it has gangs
// compete while processes are killed and objects change, and judges the whole history:
//
//   - No gang is bound in part for longer than 30 s without a word about why.
//   - No member is let go before as many as must start together are held or bound.
//   - No pod is bound twice, and no node is overcommitted. Every binding is held against what
//     was on the node at that very resource version.
//   - No bind call is held past the deadline of its gang.
//   - When nothing goes wrong any more, the cluster settles within 30 s: each gang for which
//     there is room is whole, others wait, and no pod of no gang waits beside room for it.
//   - No process ends by itself or panics, and kube-scheduler takes no answer of muster's for
//     an error.
//
// A run is the script of a seed: a few nodes, a few gangs, and some faults of
// faults.go and trouble.go, in a window of seconds. Many come while members are held, for
// which the bind call about one of them is kept for a while. What the script says is a
// function of the seed, to the calls that are spoiled; how scheduler and muster interleave is
// not, so that a seed that found something may have to be run again some times.
//
// A run ends as soon as all is settled. Nothing here trusts muster: what is judged comes from
// the watches of the API server and from the relays. By turns of a few seeds, muster keeps no
// gates, keeps them until the members of a gang exist, and until there is a place for them.
package gangfaults
