package gangmutants

import (
	"slices"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/campaigns/gangfaults"
	"muster.dev/muster/e2e/campaigns/mutants"
)

// Set is all mutants of package gang. Its first tests look at few states of the models of package core.
func Set() *mutants.Set {
	return &mutants.Set{
		Name: "gang", Dir: "gang",
		Mutants:  mutants.All(starts(), ahead(), plans(), tries(), evictions(), lives(), groups(), shell()),
		Tests:    []mutants.Tests{{Packages: "./gang/...", Env: []string{"INTERLEAVINGS=300"}}, {Packages: "./gang/core"}},
		Campaign: campaign,
	}
}

// campaign is the one that looks for what a mutant breaks.
func campaign(m mutants.Mutant) faultcampaign.Campaign {
	if slices.Contains(ahead(), mutant(m)) {
		return gangfaults.AheadCampaign()
	}
	return gangfaults.Campaign()
}

// mutant is a [mutants.Mutant].
type mutant struct{ Name, File, Old, New string }
