package extender_test

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// claims are the controllers that make a pod's claims.
var claims = []string{"resourceclaim-controller"}

// createDevices gives each node a number of devices. Pods may claim them.
func (c *cluster) createDevices(each int64, nodes ...*corev1.Node) {
	c.Helper()
	c.Must(devices.Define(c.Context(), c.Client, 1))
	for _, node := range nodes {
		c.offerDevices(each, node)
	}
}

func (c *cluster) offerDevices(count int64, node *corev1.Node) {
	c.Helper()
	c.Must(devices.Offer(c.Context(), c.Client, node.Name, count))
}

// claiming gives a pod a claim of its own for one device.
func claiming(pod *corev1.Pod) { devices.Claim(&pod.Spec, 1) }

// askingForAGPU has a pod ask for one device as for an extended resource.
func askingForAGPU(pod *corev1.Pod) {
	resources := &pod.Spec.Containers[0].Resources
	resources.Requests[devices.Resource] = resource.MustParse("1")
	resources.Limits = corev1.ResourceList{devices.Resource: resource.MustParse("1")}
}

// allocated is how many claims hold devices.
func (c *cluster) allocated() int {
	c.Helper()
	held, err := devices.Held(c.Context(), c.Client)
	c.Must(err)
	return len(held)
}

func TestPodsAreScheduledToWhereTheirDevicesAre(t *testing.T) {
	t.Parallel()
	for name, way := range muster.Ways() {
		if !way.Asked() {
			continue
		}
		for how, change := range map[string]func(*corev1.Pod){"claims": claiming, "an extended resource": askingForAGPU} {
			t.Run(name+" with "+how, func(t *testing.T) {
				lab.LongUnless(t, how == "claims" && name != "nominated")
				nodes := workload.NewNodes("node", 3, "8")
				c := newClusterWith(t, claims, nodes...)
				c.createDevices(2, nodes[1:]...)
				c.serveAndSchedule(way)
				c.createPods(workload.NewPods("pod", 5, "100m", change)...)
				c.Eventually("two pods are on each node with devices, and one is on none", func() error {
					pods := c.Pods()
					on := map[string]int{}
					for _, pod := range pods {
						on[pod.Spec.NodeName]++
					}
					if !maps.Equal(on, map[string]int{nodes[1].Name: 2, nodes[2].Name: 2, "": 1}) {
						return fmt.Errorf("pods by node: %v", on)
					}
					return nil
				})
				if got := c.allocated(); got != 4 {
					t.Errorf("%d claims hold devices", got)
				}
			})
		}
	}
}

// A gang whose claims cannot all be met holds no device; it starts whole once they can.
func TestAGangOfClaimsIsPlannedWithItsDevices(t *testing.T) {
	t.Parallel()
	for how, change := range map[string]func(*corev1.Pod){"claims": claiming, "an extended resource": askingForAGPU} {
		t.Run(how, func(t *testing.T) {
			lab.LongUnless(t, how == "claims")
			nodes := workload.NewNodes("node", 3, "8")
			c := newClusterWith(t, claims, nodes...)
			c.createDevices(2, nodes[0])
			c.serveAndSchedule(muster.Options{Selection: muster.Muster})
			c.createPodGroups(workload.NewPodGroup("ring", 4))
			c.createPods(workload.NewMembers("ring", 4, "100m", change)...)
			for i := range 4 {
				c.awaitCondition(fmt.Sprintf("ring-%d", i))
			}
			if got := c.allocated(); got != 0 {
				t.Errorf("%d claims of a gang that cannot start hold devices", got)
			}
			c.offerDevices(2, nodes[2])
			c.awaitBound(4)
			if got := c.allocated(); got != 4 {
				t.Errorf("%d claims of the gang hold devices", got)
			}
		})
	}
}

// Members that share a claim go to where the first of them has it allocated.
func TestAGangThatSharesAClaimStartsOnOneNode(t *testing.T) {
	nodes := workload.NewNodes("node", 3, "8")
	c := newClusterWith(t, claims, nodes...)
	c.createDevices(1, nodes...)
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "shared", Namespace: workload.Namespace},
		Spec:       devices.Some(1),
	}
	c.Create(claim)
	c.serveAndSchedule(muster.Options{Selection: muster.Muster})
	c.createPodGroups(workload.NewPodGroup("ring", 3))
	c.createPods(workload.NewMembers("ring", 3, "1", func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim.Name}}
		pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	})...)
	c.awaitBound(3)
	pods := c.Pods()
	on := map[string]bool{}
	for _, pod := range pods {
		on[pod.Spec.NodeName] = true
	}
	if len(on) != 1 || c.allocated() != 1 {
		t.Errorf("the members are on %v, and %d claims hold devices", on, c.allocated())
	}
}
