package gangfaults

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/devices"
)

const (
	// deviceLabel says on a node how many devices it has.
	deviceLabel = "example.com/devices"
	// mostDevices is how many a node has at most, mostClaimed a pod.
	mostDevices, mostClaimed = 4, 2
)

// writeDevices writes the script of a seed for nodes with devices, which members of some gangs claim.
func writeDevices(seed uint64) *script {
	to := setupOf(seed)
	to.devices = true
	return draw(seed, to, (*writer).addFaults)
}

// offerDevices draws how many devices a node has.
func (w *writer) offerDevices(node *corev1.Node) {
	if w.setup.devices {
		node.Labels[deviceLabel] = strconv.Itoa(1 + w.rand.IntN(mostDevices))
	}
}

// claimDevices draws how many devices a member of a gang claims.
func (w *writer) claimDevices(g *gang) {
	if w.setup.devices {
		g.devices = []int64{0, 1, 1, 1, 2}[w.rand.IntN(5)]
	}
}

// createSlices creates the devices of the nodes of a run. They outlive their nodes, as devices of a machine that comes
// back.
func (l *lane) createSlices(ctx context.Context, nodes []*corev1.Node) error {
	for _, node := range nodes {
		err := faultcampaign.UnlessDone(devices.Offer(ctx, l.Client, node.Name, devicesOf(node)), "offer the devices of", node.Name)
		if err != nil {
			return err
		}
	}
	return nil
}

func devicesOf(node *corev1.Node) int64 {
	count, err := strconv.ParseInt(node.Labels[deviceLabel], 10, 64)
	if err != nil {
		return 0 // it has none
	}
	return count
}

// clearClaims deletes the claims of a run.
func (l *lane) clearClaims(ctx context.Context, _ metav1.DeleteOptions, _ metav1.ListOptions) error {
	return devices.ClearClaims(ctx, l.Client)
}

// countDevices has an object say of devices what it says of other resources, for a judge that knows those alone: a node that
// it offers them, and a pod that it asks for them.
func countDevices(object any) any {
	switch o := object.(type) {
	case *corev1.Node:
		if count := devicesOf(o); count > 0 {
			o = o.DeepCopy()
			o.Status.Allocatable[deviceLabel] = *resource.NewQuantity(count, resource.DecimalSI)
		}
		return o
	case *corev1.Pod:
		if count := devicesClaimedBy(o); count > 0 {
			o = o.DeepCopy()
			o.Spec.Containers[0].Resources.Requests[deviceLabel] = *resource.NewQuantity(count, resource.DecimalSI)
		}
		return o
	}
	return object
}

func devicesClaimedBy(pod *corev1.Pod) int64 {
	for _, claim := range pod.Spec.ResourceClaims {
		for count := range int64(mostClaimed) {
			if ptr.Deref(claim.ResourceClaimTemplateName, "") == devices.TemplateOf(count+1) {
				return count + 1
			}
		}
	}
	return 0
}

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

// leftBehind names the claims that hold devices for pods that do not run: for pods on no node, and for gone pods.
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

// devicesVerdict is the judgement on the fate of claims.
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
		j.findings = append(j.findings, faultcampaign.Found(claimLeft, "%s", text))
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

// gangs notes whole gangs.
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
			findings = append(findings, faultcampaign.Found(deviceTwice, "%s is held by %s as well as by another claim", device, claim.Name))
		}
		holders[device] = claim.UID
	}
	return findings
}
