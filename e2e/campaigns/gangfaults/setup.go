package gangfaults

import (
	"fmt"
	"time"

	"muster.dev/muster/e2e/muster"
)

// setup is how muster is configured for a run.
type setup struct {
	gates muster.Gates
	// elects says that it runs for election, so that another one can take over.
	elects bool
	// plain is how many schedulers run that know nothing of muster, which reserves room through the API server
	// alone; 0 for one that calls it.
	plain int
	// devices says that nodes have some, which members of gangs claim.
	devices bool
	// native says that gangs are Kubernetes' own groups.
	native bool
	// topology says that nodes stand in racks, and that members of gangs have to be near each other.
	topology bool
	// booking says that small pods keep the cluster busy, and that muster books room for gangs that wait for it.
	booking bool
	// skew is by how much the clock of muster's machine is ahead of that of the others.
	skew time.Duration
}

// ahead reports whether a gang starts by its gates, which are lifted when its places are reserved. Else it starts by its bind
// calls, which are held until enough members have come.
func (s setup) ahead() bool { return s.gates == muster.UntilPlace }

func (s setup) String() string {
	if s.plain > 0 {
		return fmt.Sprintf("%d plain schedulers, muster runs for election: %t, its clock is wrong by %s", s.plain, s.elects, s.skew)
	}
	return fmt.Sprintf(
		"gates are kept: %q, muster runs for election: %t, devices: %t, racks: %t, books: %t, its clock is wrong by %s",
		s.gates, s.elects, s.devices, s.topology, s.booking, s.skew,
	)
}

// setupOf returns the setup of a seed. Setups take turns: to change it, muster is started again.
func setupOf(seed uint64) setup {
	s := []setup{{}, {gates: muster.UntilMembers}, {gates: muster.UntilPlace}, {elects: true}}[seed/seedsPerSetup%4]
	s.skew = skewOf(seed)
	return s
}

// wrong is by how much a clock may be wrong.
const wrong = 30 * time.Second

// skewOf returns by how much muster's clock is ahead for a seed. One after the other, all go with all other settings.
func skewOf(seed uint64) time.Duration {
	return []time.Duration{0, wrong, -wrong}[seed/seedsPerSetup%3]
}

// seedsPerSetup is how many seeds in a row have one setup.
const seedsPerSetup = 4
