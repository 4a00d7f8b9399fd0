// Package reschedulermutants is the list of the ways in which the rescheduler is broken on purpose; see package mutants.
package reschedulermutants

import (
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/campaigns/mutants"
	"muster.dev/muster/e2e/campaigns/reschedulerfaults"
)

// Set is all mutants of the packages below rescheduler.
func Set() *mutants.Set {
	return &mutants.Set{
		Name: "rescheduler", Dir: "rescheduler",
		Mutants: mutants.All(
			protection(), budgets(), records(), steps(), modes(), room(), marks(), plans(), policies(), looks(), answers(),
		),
		// What is reserved is asked for by the extender.
		Tests:    []mutants.Tests{{Packages: "./rescheduler/..."}, {Packages: "./server/extender"}, {Packages: "./server ./gang"}},
		Campaign: func(mutants.Mutant) faultcampaign.Campaign { return reschedulerfaults.Campaign() },
	}
}

// mutant is a [mutants.Mutant].
type mutant struct{ Name, File, Old, New string }
