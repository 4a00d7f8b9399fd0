package extender_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

const (
	gpuDriver   = "gpu.example.com"
	gpuResource = "example.com/gpu"
	gpuTemplate = "one-gpu"
)

// createDevices has each node have so many devices, of a class that stands for gpuResource. Pods may use a template of a
// claim for one.
func (c *cluster) createDevices(each int, nodes ...*corev1.Node) {
	c.Helper()
	api := c.client.ResourceV1()
	class := &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu"},
		Spec: resourcev1.DeviceClassSpec{
			ExtendedResourceName: new(gpuResource),
			Selectors: []resourcev1.DeviceSelector{
				{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + gpuDriver + `"`}},
			},
		},
	}
	template := &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: gpuTemplate, Namespace: workload.Namespace},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class.Name}}},
		}}},
	}
	_, classErr := api.DeviceClasses().Create(c.Context(), class, metav1.CreateOptions{})
	_, templateErr := api.ResourceClaimTemplates(workload.Namespace).Create(c.Context(), template, metav1.CreateOptions{})
	if err := errors.Join(classErr, templateErr); err != nil {
		c.Fatal(err)
	}
	for _, node := range nodes {
		slice := &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "gpus-of-" + node.Name},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: gpuDriver, NodeName: &node.Name,
				Pool: resourcev1.ResourcePool{Name: node.Name, Generation: 1, ResourceSliceCount: 1},
			},
		}
		for i := range each {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
		}
		if _, err := api.ResourceSlices().Create(c.Context(), slice, metav1.CreateOptions{}); err != nil {
			c.Fatal(err)
		}
	}
	c.Cleanup(c.clearDevices)
}

// clearDevices deletes all that there is of devices.
func (c *cluster) clearDevices() {
	ctx, api, all := context.Background(), c.client.ResourceV1(), metav1.ListOptions{}
	claims, err := api.ResourceClaims(workload.Namespace).List(ctx, all)
	if err != nil {
		c.Error(err)
		return
	}
	for i := range claims.Items { // no kubelet is there that would let go of them
		_, err := api.ResourceClaims(workload.Namespace).Patch(
			ctx, claims.Items[i].Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{},
		)
		if err != nil && !apierrors.IsNotFound(err) {
			c.Error(err)
		}
	}
	if err := errors.Join(
		api.ResourceClaims(workload.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, all),
		api.ResourceClaimTemplates(workload.Namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, all),
		api.ResourceSlices().DeleteCollection(ctx, metav1.DeleteOptions{}, all),
		api.DeviceClasses().DeleteCollection(ctx, metav1.DeleteOptions{}, all),
	); err != nil {
		c.Error(err)
	}
}

// claiming gives a pod a claim of its own for one device.
func claiming(pod *corev1.Pod) {
	pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new(gpuTemplate)}}
	pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
}

// askingForAGPU has a pod ask for one device as for an extended resource.
func askingForAGPU(pod *corev1.Pod) {
	resources := &pod.Spec.Containers[0].Resources
	resources.Requests[gpuResource] = resource.MustParse("1")
	resources.Limits = corev1.ResourceList{gpuResource: resource.MustParse("1")}
}

// allocated is how many claims hold devices.
func (c *cluster) allocated() (count int) {
	c.Helper()
	claims, err := c.client.ResourceV1().ResourceClaims(workload.Namespace).List(c.Context(), metav1.ListOptions{})
	if err != nil {
		c.Fatal(err)
	}
	for i := range claims.Items {
		if claims.Items[i].Status.Allocation != nil {
			count++
		}
	}
	return count
}

func TestPodsAreScheduledToWhereTheirDevicesAre(t *testing.T) {
	for _, selection := range []string{"Scheduler", "Extender", "Nominate"} {
		for how, change := range map[string]func(*corev1.Pod){"claims": claiming, "an extended resource": askingForAGPU} {
			t.Run(selection+" with "+how, func(t *testing.T) {
				nodes := newNodes(3, "8")
				c := newCluster(t, nodes...)
				c.createDevices(2, nodes[1:]...)
				s := c.serve(serving{config: "profiles: [{schedulerName: default-scheduler, nodeSelection: " + selection + "}]\n"})
				c.schedule(s.schedulerConfig(nil))
				c.createPods(newPods(5, "100m", change)...)
				c.eventually("two pods are on each node with devices, and one is on none", func() error {
					pods, err := c.pods()
					if err != nil {
						return err
					}
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
	for how, change := range map[string]func(*corev1.Pod){"claims": claiming, "an extended resource": askingForAGPU} {
		t.Run(how, func(t *testing.T) {
			nodes := newNodes(3, "8")
			c := newCluster(t, nodes...)
			c.createDevices(2, nodes[0])
			s := c.serve(serving{config: "profiles: [{schedulerName: default-scheduler, nodeSelection: Extender}]\n"})
			c.schedule(s.schedulerConfig(nil))
			c.createPodGroups(newPodGroup("ring", 4))
			c.createPods(members("ring", 4, "100m", change)...)
			for i := range 4 {
				c.awaitCondition(fmt.Sprintf("ring-%d", i))
			}
			if got := c.allocated(); got != 0 {
				t.Errorf("%d claims of a gang that cannot start hold devices", got)
			}
			slice := &resourcev1.ResourceSlice{
				ObjectMeta: metav1.ObjectMeta{Name: "gpus-of-" + nodes[2].Name},
				Spec: resourcev1.ResourceSliceSpec{
					Driver: gpuDriver, NodeName: &nodes[2].Name, Devices: []resourcev1.Device{{Name: "gpu-0"}, {Name: "gpu-1"}},
					Pool: resourcev1.ResourcePool{Name: nodes[2].Name, Generation: 1, ResourceSliceCount: 1},
				},
			}
			if _, err := c.client.ResourceV1().ResourceSlices().Create(c.Context(), slice, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			c.awaitBound(4)
			if got := c.allocated(); got != 4 {
				t.Errorf("%d claims of the gang hold devices", got)
			}
		})
	}
}

// Members that share a claim go to where the first of them has it allocated.
func TestAGangThatSharesAClaimStartsOnOneNode(t *testing.T) {
	nodes := newNodes(3, "8")
	c := newCluster(t, nodes...)
	c.createDevices(1, nodes...)
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "shared", Namespace: workload.Namespace},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}}},
		}},
	}
	if _, err := c.client.ResourceV1().ResourceClaims(workload.Namespace).Create(c.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s := c.serve(serving{config: "profiles: [{schedulerName: default-scheduler, nodeSelection: Extender}]\n"})
	c.schedule(s.schedulerConfig(nil))
	c.createPodGroups(newPodGroup("ring", 3))
	c.createPods(members("ring", 3, "1", func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim.Name}}
		pod.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	})...)
	c.awaitBound(3)
	pods, err := c.pods()
	if err != nil {
		t.Fatal(err)
	}
	on := map[string]bool{}
	for _, pod := range pods {
		on[pod.Spec.NodeName] = true
	}
	if len(on) != 1 || c.allocated() != 1 {
		t.Errorf("the members are on %v, and %d claims hold devices", on, c.allocated())
	}
}
