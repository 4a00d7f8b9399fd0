package gangfaults

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/faultcampaign"
)

// window is how long things happen in a run. What waits for a moment that does not come
// happens at its end.
const window = 1500 * time.Millisecond

// script is what is done in a run, whatever comes of it.
type script struct {
	seed    uint64
	setup   setup
	nodes   []*corev1.Node // that are there before
	gangs   map[string]*gang
	events  []event
	trouble faultcampaign.Trouble
	slow    map[string]bool // gangs that take their time to be let go, on the way to the API server
	behind  time.Duration   // what muster knows may be so much older than it is without faults
}

// event is something that is done to the cluster, not before a time since the run began, and
// not before a moment in the life of a gang.
type event struct {
	at     time.Duration
	moment moment
	what   string              // for people
	fault  faultcampaign.Fault // "" for what is none
	do     func(context.Context, *run) error
}

// moment is one that a gang comes to: so many bind calls about members have reached muster, muster has begun to
// bind members, or it has asked the API server so many times to nominate members or to lift a gate of theirs. The
// zero moment is always.
type moment struct {
	gang      string
	held      int
	committed bool
	nominated int
	lifted    int
}

// setup is how muster is configured for a run.
type setup struct {
	gates string // gangs.gates
	// elects says that it runs for election, so that another one can take over.
	elects bool
	// plain is how many schedulers run that know nothing of muster, which reserves room through the API server
	// alone; 0 for one that calls it.
	plain int
	// devices says that nodes have some, which members of gangs claim.
	devices bool
	// skew is by how much the clock of muster's machine is ahead of that of the others.
	skew time.Duration
}

func (s setup) String() string {
	if s.plain > 0 {
		return fmt.Sprintf("%d plain schedulers, muster runs for election: %t, its clock is wrong by %s", s.plain, s.elects, s.skew)
	}
	return fmt.Sprintf(
		"gates are kept: %s, muster runs for election: %t, devices: %t, its clock is wrong by %s", s.gates, s.elects, s.devices, s.skew,
	)
}

// setupOf returns the setup of a seed. Setups take turns: to change it, muster is started again.
func setupOf(seed uint64) setup {
	s := []setup{{gates: never}, {gates: "UntilMembers"}, {gates: "UntilPlace"}, {gates: never, elects: true}}[seed/seedsPerSetup%4]
	s.skew = skewOf(seed)
	return s
}

// wrong is by how much a clock may be wrong.
const wrong = 30 * time.Second

// skewOf returns by how much muster's clock is ahead for a seed. One after the other, all go with all other settings.
func skewOf(seed uint64) time.Duration {
	return []time.Duration{0, wrong, -wrong}[seed/seedsPerSetup%3]
}

const (
	never = "Never" // are members gated
	// seedsPerSetup is how many seeds in a row have one setup.
	seedsPerSetup = 4
)
