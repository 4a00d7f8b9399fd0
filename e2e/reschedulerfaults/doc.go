// Package reschedulerfaults looks for what breaks rescheduling. On real control planes, with a
// stock kube-scheduler, KWOK for machines, and relays that spoil calls of muster and of
// 'muster reschedule' to the API server, it has pods come that fit nowhere in a cluster whose
// room is in pieces, while processes die and freeze, objects change and others want the room. It
// judges the whole history:
//
//   - What replaces an evicted pod has a node within 60 s, unless that place was lost, and then
//     the plan says that it has failed. When all has settled, each evicted pod has been replaced (story.lost says exactly
//     when it has not).
//   - Nobody evicts a pod that must stay: of a Job that fails by it, of kube-system, annotated against it, with local data or,
//     unless that is allowed, with a claim, or the only one of its controller that is ready.
//   - No pod is evicted without a plan that said so before, past its PodDisruptionBudget, over a
//     rate, a number per plan, node or workload, a number that may be down, or in a cool-down: also not when somebody has
//     deleted the plans of evictions before, and no process remembers them.
//   - From when muster says that it keeps the room of a plan, nobody is bound there so that those do
//     not fit any more whom it is for, and nothing returns to the node that it was moved off.
//   - No pod is evicted before muster has said so, nor to go to a node that has been closed.
//   - Plans end within 30 s of their expiry, and say why.
//   - Two replicas do not evict at once.
//   - A rescheduler that has said that its mode is DryRun evicts nobody until the mode is another one. In mode Approve
//     it evicts by plans that somebody has approved of, and a plan of mode Approve evicts nobody before that.
//   - No node carries a mark at the end that has no plan behind it, or whose time is over.
//   - No node is overcommitted, and no process panics.
//   - When nothing goes wrong any more and no plan is carried out, no pod waits beside room for it.
//
// A run is the script of a seed: some nodes, ReplicaSets, StatefulSets, Deployments and, in a fifth of the runs, Jobs that fill
// about half of them, some policies, pods that come, and some faults of faults.go, modes.go and trouble.go. wishes.go and
// load.go give policies something to do: pods are asked to leave, nodes tainted, and measured by what their pods use.
// A replacement may differ: by a new template, or since the API server changes requests on creation, as a vertical
// autoscaler does. Policies that would undo each other's moves are never on together.
//
// Most faults come in the middle of a plan, and at what it is about: the node that a pod is to go to, the pod that is next,
// its workload, the plan itself. The script is a function of the seed, to the calls that are spoiled; how processes
// interleave is not, so that a seed that found something may have to be run again some times. Nodes
// that are emptied are tainted or cordoned in most runs, for seconds.
//
// In two of three runs clocks are wrong by 30 s: that of muster is ahead or behind, and that of the first rescheduler is
// ahead. Whoever comes after one that was killed has another clock, right or wrong in the other direction. A rescheduler
// that is behind takes a pod for too young to make room for, so that none is at the beginning. What is judged goes by the
// clock of the campaign.
//
// Each of these, taken out of muster for trial, was found within 30 seeds: that what is moved is kept off
// the node that it leaves, reservations, how many may be down (also of the first eviction of a process only),
// rates, that evictions are remembered when a process begins, and that the extender looks whether room is there
// before it answers for it.
//
// Nothing here trusts muster: what is judged comes from the watches of the API server, and from
// the relays, which see every eviction.
package reschedulerfaults
