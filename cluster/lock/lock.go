// Package lock has the mutexes of the parts that decide on one view of the cluster, and the order in which they
// are taken: a holder of one may take only mutexes of a later rank. So nothing waits in a circle.
//
// A build with the tag lockorder checks the order, as make test does: a lock that is taken out of it
// panics and names both. Else a Mutex is a [sync.Mutex], and costs as much.
//
// Libraries do not take its place. go-deadlock finds two orders once both were seen, and knows no declared one, so it
// lets pass what tests do in one wrong order only; it stands in the product's way, switched off. The checks of gVisor
// (checklocks) are about which lock guards a field. The number of a goroutine is found where the runtime keeps it, as
// petermattis/goid does with offsets for each release of Go: to read it off a stack makes the tests of package gang take
// ten times as long.
package lock

// Rank is the place of a lock in the order.
type Rank int

// The order in which locks are taken, the first one first.
const (
	// Gangs guards gangs and their members.
	Gangs Rank = iota + 1
	// Binding is held by the one bind call that judges its pod.
	Binding
	// Plan is held by the one plan that a profile has at a time.
	Plan
	// Class guards what is remembered of a class of pods. A plan holds several, and no one else holds two.
	Class
	// Store guards which classes are remembered.
	Store
	// Nominations guards pods that are placed ahead.
	Nominations
	// Reservations guards room that plans of the rescheduler keep.
	Reservations
	// View guards the view of the cluster, whose one writer holds it.
	View
	// Inbox guards what the view has told and nobody has read yet.
	Inbox
)

// String returns the name that docs/design.md gives to the order.
func (r Rank) String() string {
	names := [...]string{"", "gangs", "binding", "plan", "class", "store", "nominations", "reservations", "view", "inbox"}
	if r < 1 || int(r) >= len(names) {
		return "unknown"
	}
	return names[r]
}
