// Package membership answers who belongs to which gang, and what is asked of one.
//
// All of it is read off objects: a pod says which group it is of (see [Of]), the PodGroup says how many members
// must start together and by which rules, and members say so themselves where there is no PodGroup; which
// groups start together; and why one cannot start, whatever the nodes. The planner of gangs and the planner of
// moves ask here, so that they mean the same pods and the same numbers.
//
// Every function is pure: it keeps nothing, changes nothing and takes no lock. A [Spec] is
// immutable once it is returned.
package membership
