// Package core decides what becomes of gangs. It is a state machine without a clock, a client, a
// lock, a goroutine or a channel.
//
// A [State] is all that is known of groups and their members. It changes by [State.Apply] alone (its
// limits by [State.Configure]): an
// [Event] goes in, and the [Effect]s that have to follow come out, in the order in which they are to
// be carried out. What an event may read of the cluster is a [View]. All other methods of a State are
// queries and change nothing.
//
// What takes a search is not decided here. [FindPlaces], [FindVictims] and [FindWithout] ask for it,
// and the answer is another event that carries the same [Attempt]. It has to be applied before any
// other event, so that nothing comes in between.
//
// A member goes through these stages:
//
//	pending → placed → held → binding → bound
//	   ↑________↓_______↓________↓
//
// What holds after every event, once its effects are carried out:
//
//   - A member that is placed or held counts on its place, and a pending one nowhere, unless it may be bound
//     any moment.
//   - A member is held exactly as long as its hold has not ended. A hold ends once, by [EndHold].
//   - A member becomes binding only together with so many that, with those bound, they are as many
//     as must start together, and after that was recorded, if there is a PodGroup.
//   - How many groups of a namespace hold places is what counting them anew gives.
//   - A hold ends at the first [Ticked] after its time, or that of its group, is up.
//   - A pod that is binding or bound is never released.
//   - Equal states, views and events give equal effects.
package core
