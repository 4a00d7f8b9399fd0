// Package evictions remembers what plans of the rescheduler have evicted, for longer than plans exist: deleting
// a ReschedulingPlan frees no rate and ends no cool-down.
//
// An eviction is written down before it is asked for. It is struck out when it is known that the pod stays. The record
// is a ConfigMap, which the leader alone writes; a process that begins to lead reads it first, and evicts nobody before.
//
// The record has ages, and no times; the leader stores them again every minute. A process that reads one goes
// on from there by its own clock, so that no two machines' clocks are compared. While nobody leads, and for the
// last minute of a leader, no eviction gets older: that allows too few evictions rather than too many.
package evictions
