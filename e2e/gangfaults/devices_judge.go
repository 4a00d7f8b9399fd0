package gangfaults

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Figures about devices.
const (
	deviceGangsFigure = "device_gangs_whole"
	allocationsFigure = "allocations"
	takenBackFigure   = "allocations_taken_back"
)

// Kinds of findings about devices.
const (
	deviceTwice = "one device, two claims"
	claimLeft   = "claim left behind"
)

// claimsLeft counts the claims that were left behind in all runs of a campaign.
type claimsLeft struct{ atomic.Int64 }

func (c *claimsLeft) figures(out io.Writer) {
	fmt.Fprintf(out, "figure device_claims_left_behind=%d\n", c.Load())
}

// leftBehind are the claims that hold devices for pods that do not run: those that are on no node, and those that are gone.
func (s *state) leftBehind() (because []string) {
	for _, name := range slices.Sorted(maps.Keys(s.claims)) {
		claim := s.claims[name]
		owner := metav1.GetControllerOf(claim)
		if claim.Status.Allocation == nil || owner == nil {
			continue
		}
		switch pod := s.pods[owner.UID]; {
		case pod == nil:
			because = append(because, fmt.Sprintf("%s holds devices for pod %s, which is gone", name, owner.Name))
		case pod.Spec.NodeName == "":
			because = append(because, fmt.Sprintf("%s holds devices for pod %s, which is on no node", name, owner.Name))
		}
	}
	return because
}

// devicesVerdict is what came of judging what became of claims.
type devicesVerdict struct {
	findings    []finding
	left        int
	whole       int // gangs that were whole once, and claim devices
	allocations int
	takenBack   int // from pods that were on no node
}

// judgeDevices replays a history: no device is held by two claims, and none by a claim in vain at the end.
func judgeDevices(history []entry) devicesVerdict {
	j := deviceJudge{now: newState(), holders: map[string]types.UID{}, whole: sets.New[groupKey]()}
	for _, e := range history {
		if e.claim != nil {
			j.claim(e)
		}
		turned := j.now.apply(e)
		if e.pod != nil && devicesClaimedBy(e.pod) > 0 {
			j.gangs(turned)
		}
	}
	for _, text := range j.now.leftBehind() {
		j.left++
		j.findings = append(j.findings, finding{claimLeft, text})
	}
	j.devicesVerdict.whole = j.whole.Len()
	return j.devicesVerdict
}

// deviceJudge replays a history.
type deviceJudge struct {
	devicesVerdict

	now     *state
	holders map[string]types.UID // the claims by what they hold
	whole   sets.Set[groupKey]
}

// gangs notes those that are whole.
func (j *deviceJudge) gangs(turned []groupKey) {
	for _, key := range turned {
		if j.now.standing(key).whole() {
			j.whole.Insert(key)
		}
	}
}

// claim notes what becomes of a claim.
func (j *deviceJudge) claim(e entry) {
	was := j.now.claims[e.claim.Name]
	maps.DeleteFunc(j.holders, func(_ string, holder types.UID) bool { return holder == e.claim.UID })
	holds := !e.gone && e.claim.Status.Allocation != nil
	held := was != nil && was.UID == e.claim.UID && was.Status.Allocation != nil
	switch {
	case holds && !held:
		j.allocations++
	case held && !holds && !e.gone:
		j.takenBack++
	}
	if holds {
		j.findings = append(j.findings, holdDevices(j.holders, e.claim)...)
	}
}

// holdDevices enters the devices of a claim that is allocated.
func holdDevices(holders map[string]types.UID, claim *resourcev1.ResourceClaim) (findings []finding) {
	for _, result := range claim.Status.Allocation.Devices.Results {
		device := result.Pool + "/" + result.Device
		if other, taken := holders[device]; taken && other != claim.UID {
			findings = append(findings, finding{deviceTwice, fmt.Sprintf("%s is held by %s as well as by another claim", device, claim.Name)})
		}
		holders[device] = claim.UID
	}
	return findings
}
