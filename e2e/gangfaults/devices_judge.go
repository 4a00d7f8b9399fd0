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
	var v devicesVerdict
	s, holders, whole := newState(), map[string]types.UID{}, sets.New[groupKey]()
	for _, e := range history {
		if e.claim != nil {
			was := s.claims[e.claim.Name]
			for device, uid := range maps.Clone(holders) {
				if uid == e.claim.UID {
					delete(holders, device)
				}
			}
			holds := !e.gone && e.claim.Status.Allocation != nil
			held := was != nil && was.UID == e.claim.UID && was.Status.Allocation != nil
			switch {
			case holds && !held:
				v.allocations++
			case held && !holds && !e.gone:
				v.takenBack++
			}
			if holds {
				v.findings = append(v.findings, holdDevices(holders, e.claim)...)
			}
		}
		for _, key := range s.apply(e) {
			if e.pod != nil && devicesClaimedBy(e.pod) > 0 && s.standing(key).whole() {
				whole.Insert(key)
			}
		}
	}
	v.whole = whole.Len()
	for _, text := range s.leftBehind() {
		v.left++
		v.findings = append(v.findings, finding{claimLeft, text})
	}
	return v
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
