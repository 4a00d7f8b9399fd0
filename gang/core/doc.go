// Package core decides about gangs. It is a state machine without a clock, a client, a
// lock, a goroutine or a channel.
//
// A [State] is all that is known of groups and their members. It changes by [State.Apply] alone (its limits by
// [State.Configure]): an [Event] goes in, and the [Effect]s that have to follow come out, in the order in which
// they are to be carried out. An event reads the cluster through a [View], and asks [Ports] for places while it is
// applied: the core searches nothing itself. All other methods of a State are queries and change nothing.
//
// A gang is planned in one place: a plan (plan.go) asks for places, has gangs of lower priority give way, looks for
// victims (preempt.go), and answers the call that waits for it.
//
// A member goes through these stages:
//
//	pending → placed → held ──→ binding → bound → leaving
//	                   ↑  ↓        ↑
//	                   kept ───→  due
//
// and from each but the last two back to pending. A member is kept when its call has ended by its own time, and
// due when it was let go then. The scheduler is to bind it again. One that is leaving is being deleted: for the quorum it
// is gone already.
//
// What holds after every event, once its effects are carried out:
//
//   - A member that is placed, held, kept or due counts on its place, and a pending one nowhere, unless it may be bound
//     any moment.
//   - A member is held exactly as long as its hold has not ended. A hold ends once, by [EndHold].
//   - A member becomes binding or due only if it and the bound members are enough to start together, and after
//     that was recorded, if there is a PodGroup. A due member becomes binding by itself.
//   - The number of groups of a namespace that hold places equals a recount.
//   - A hold ends at the first [Ticked] after its time, or that of its group, is up: by its own the member
//     keeps its place, by that of the group it does not.
//   - A pod that is binding or bound is never released. A due pod has its place for the time that a gang may
//     take.
//   - Equal states, events and answers of ports give equal effects.
package core
