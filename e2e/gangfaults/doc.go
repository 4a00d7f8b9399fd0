// Package gangfaults looks for what breaks gangs. On real control planes, with a stock
// kube-scheduler, KWOK for machines and muster between relays that spoil calls, it has gangs
// compete while processes are killed and objects change, and judges the whole history:
//
//   - No gang is bound in part for longer than 30 s without a word about why.
//   - No member is let go before as many as must start together are held or bound, in its gang and
//     in each that starts together with it. What finished in a former life of the PodGroup does not
//     count.
//   - No pod is bound twice, and no node is overcommitted. Every binding is held against what
//     was on the node at that very resource version.
//   - No bind call is held past the deadline of its gang.
//   - When nothing goes wrong any more, the cluster settles within 30 s: each gang for which
//     there is room is whole, others wait, no pod of no gang waits beside room for it, and the
//     status of each PodGroup is true: its phase, its counts and why it waits.
//   - A gang that pods are evicted for starts, unless something explains that it does not, and pods
//     are not evicted for it again before: judgeVictims has the rules.
//   - A gang that cannot start, as kube-scheduler refuses members by itself, is looked at for 20 s
//     more. It holds room for no longer than its tries take when the rests between them double: at
//     most 8 of 20 s for one with a time of 2 s (and 2 s for looking at it), which becomes a tenth in
//     the long run. muster writes something about it at most 10 times for each of its members, which
//     is 30 times a minute.
//   - No process ends by itself or panics, and kube-scheduler takes no answer of muster's for
//     an error.
//
// A run is the script of a seed: a few nodes, a few gangs of any match policy and mode, some of which
// start together, and some faults of faults.go, situations.go, delays.go and trouble.go, in a window
// of seconds. Many come while members are held, for which the bind call about one of them is kept for
// a while. What the script says is a function of the seed, to the calls that are spoiled; how
// scheduler and muster interleave is not, so that a seed that found something may have to be run
// again some times.
//
// Beside plain schedulers, which know nothing of muster (one, or two that run for election), gangs are gated, and muster
// lets them go. There are no bind calls to judge; instead:
//
//   - No member of a gang that has not started is let go unless as many as must start together are bound, or have
//     had their places reserved (status.nominatedNodeName) while they were gated, or room for them was left wherever
//     all others went that might be scheduled.
//   - It is counted how many gangs were bound in part for longer than a second, and what explains it: that members or
//     nodes were lost, that pods of higher priority came, or that processes or calls were disturbed.
//
// On nodes with devices, which members of gangs claim, there are two rules more:
//
//   - No two claims hold one device.
//   - When nothing goes wrong any more, no claim holds devices for a pod that is on no node, or gone.
//
// A run ends as soon as all is settled. Nothing here trusts muster: what is judged comes from
// the watches of the API server and from the relays, but for how long a gang that cannot start holds
// room. By turns of a few seeds, muster keeps no gates, keeps them until the members of a gang exist,
// until there is a place for them, and runs for election, so that another one takes over while the old
// one goes on. The command has muster's clock be right, 30 s ahead or 30 s behind by turns, and wrong in the other direction
// after a failover; the tests, which build nothing for that, leave it right.
package gangfaults
