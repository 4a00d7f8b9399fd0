package console

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/core"
)

// dumpedGangs are the gangs of a dump. No scheduler asks about their members, so none is ever denied: why they wait is read
// off what is there. Pods that have finished are not.
type dumpedGangs struct{ Gangs }

// Report implements Gangs.
func (d dumpedGangs) Report() []core.Summary {
	all := d.Gangs.Report()
	for i := range all {
		all[i].Why = whyInADump(&all[i])
	}
	return all
}

// About implements Gangs.
func (d dumpedGangs) About(name types.NamespacedName) []core.Details {
	all := d.Gangs.About(name)
	for i := range all {
		all[i].Why = whyInADump(&all[i].Summary)
	}
	return all
}

// Member implements Gangs.
func (d dumpedGangs) Member(uid types.UID) (core.Summary, core.Member, bool) {
	s, member, known := d.Gangs.Member(uid)
	if known {
		s.Why = whyInADump(&s)
	}
	return s, member, known
}

func whyInADump(s *core.Summary) string {
	missing := s.MinMember - s.Pending - s.Bound - s.Succeeded
	switch {
	case s.Pending == 0:
		return ""
	case s.MinMember == 0:
		return "it is not known how many members must start together: the PodGroup is missing, or an annotation"
	case missing > 0:
		return fmt.Sprintf("waiting for %d more of %d members to be created, unless they have finished", missing, s.MinMember)
	default:
		return "all of its members were waiting when the snapshot was taken; 'muster plan' says what it would take to start them"
	}
}
