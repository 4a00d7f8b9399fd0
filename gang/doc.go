// Package gang starts groups of pods whole or not at all, with a stock kube-scheduler.
//
// A group is a PodGroup, or pods that say themselves how many of them must start together (see
// [membership.Of]). The work of a scheduler's PreFilter, PostFilter and Permit for a gang is done in the calls
// that an extender gets:
//
//   - Filter plans places for the whole group when the first member is asked about, or earlier. A plan that
//     finds a place for too few of them holds nothing, and the group is denied for a while. Otherwise every
//     member counts on its place from then on, and each is steered there.
//   - Bind holds a member until enough members to start together have come or are bound. Then that is recorded
//     on the PodGroup, and all of them go. Before that nothing is bound.
//
// Package core decides about a gang: a state machine that knows no clock and no client. A [Manager] is the
// shell around it: it takes the lock, feeds events to the core, and carries out their effects. What the core reads of the
// cluster, and the searches that it asks for, are its ports: see [core.Ports].
//
// What holds at any time:
//
//   - A member that is placed or held counts on its node (see [cluster.Cluster.AssumeAll]): other pods and other
//     groups see the room as taken.
//   - Members are let go only together, and only if they and the bound members are enough to start together.
//   - That is recorded before (see [record.Record]), if there is a PodGroup, by a leader that no later one has
//     overtaken. The recorded minMember then stands until that number is bound. The record is written without
//     the lock, while the members are held; the members to go are chosen when it is written. It is not begun
//     when the time is up.
//   - A member that comes later goes without a record of its own only if minMember others are bound, or
//     recorded and not bound yet. Others on their way are no quorum to it.
//   - A pod that has succeeded counts as bound, one that has failed as gone.
//   - A held call ends before kube-scheduler gives it up: with quorum, or with an error. The member keeps its
//     place for the time of its group, and counts as one that has come; its next call is held again, or goes on
//     at once after the start.
//   - A group whose time is up again and again, though the scheduler was told of its places, holds them for a
//     small share of the time.
//   - A group that was denied, or waits for members, costs the scheduler nothing except the tries that it makes
//     by itself: the reasons never change, and members are woken when there is a place for all.
//
// Members may be created with a scheduling gate, so that the scheduler does not know of them yet. A pod that
// has this gate alone is a member as any other, and is planned. The gates of a group are lifted together, and
// no gate outlives its reason.
//
// Groups that compete are ordered by priority, then by the time of their last failure or
// their creation, then by name.
package gang
