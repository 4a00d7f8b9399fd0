package gangfaults

import (
	"context"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/faultcampaign"
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

// createSlices creates the devices of the nodes of a run. They outlive their nodes, as those of a machine that comes back.
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
