// Package explanation says why pods and gangs wait, in numbers that add up.
//
// A [Pod] and a [Gang] are explained on one snapshot of the cluster. Each node counts once: a pod fits it, or fits it once
// others give way, or only lacks room there, or is refused for another reason. Each member of a gang counts once, too. Of
// members without a place it is said how many would get one now, each beside those before it, and on how many nodes one
// would fit alone.
//
// The pages of a muster that runs answer with these types, and commands print them: see
// [muster.dev/muster/server/console] and [muster.dev/muster/server/remote].
package explanation
