// Package status tells people how gangs fare: in the status of PodGroups, and in events
// about groups and pods.
//
//	manager ──Enqueue──→ Writer ──Observe──→ manager
//	                       │
//	                      Next → patch of status → Events
//
// A [Writer] is told only that something may have changed. It asks for the present state when it comes to the
// group, so that a burst of changes is one write and the last word is always said. [Next] derives all that it
// says, as a function.
//
// What holds at any time:
//
//   - Nothing is written that the object says already.
//   - A write is for the version of the object that it was worked out from. Fields of the
//     status that are not known here are left alone.
//   - A group that waits costs nothing: its words change only with what it waits for, and an
//     event is told once a minute at most.
package status
