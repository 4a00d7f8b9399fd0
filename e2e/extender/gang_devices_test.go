package extender_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// A DeviceTaintRule keeps a gang from starting as a taint in the ResourceSlice would, and holds up nobody once it is gone.
func TestAGangWaitsWhileARuleTaintsItsDevices(t *testing.T) {
	lab.Long(t)
	if release, err := binaries.Chosen(); err != nil || release == binaries.Release136 {
		t.Skipf("Kubernetes %s does not serve DeviceTaintRules of resource.k8s.io/v1 (%v)", release, err)
	}
	nodes := workload.NewNodes("node", 2, "8")
	c := newClusterWith(t, claims, nodes...)
	c.createDevices(1, nodes...)
	rules := c.Client.ResourceV1().DeviceTaintRules()
	rule := &resourcev1.DeviceTaintRule{
		ObjectMeta: metav1.ObjectMeta{Name: "failing"},
		Spec: resourcev1.DeviceTaintRuleSpec{
			DeviceSelector: &resourcev1.DeviceTaintSelector{Driver: new(devices.Driver), Pool: &nodes[1].Name},
			Taint:          resourcev1.DeviceTaint{Key: "example.com/failing", Effect: resourcev1.DeviceTaintEffectNoSchedule},
		},
	}
	_, err := rules.Create(c.Context(), rule, metav1.CreateOptions{})
	c.Must(err)
	s := c.serveAndSchedule(muster.Options{Selection: muster.Muster})
	c.createPodGroups(workload.NewPodGroup("ring", 2))
	c.createPods(workload.NewMembers("ring", 2, "100m", claiming)...)
	s.awaitWhy("ring", "places for 1 of 2 members")
	if got := c.allocated(); got != 0 {
		t.Errorf("%d claims of a gang that cannot start hold devices", got)
	}
	c.Must(rules.Delete(c.Context(), rule.Name, metav1.DeleteOptions{}))
	c.awaitBound(2)
}

// The case of k/k #138765: of two members the first one can do with either device, and takes the one that the other needs.
// Which device a pod gets is for kube-scheduler's plugin to say, which takes the first that will do, so that there is no
// place for both; but then nothing is held for them, and a third device has them start.
func TestAGangThatAlternativesKeepApartHoldsNoDevice(t *testing.T) {
	lab.Long(t)
	nodes := workload.NewNodes("node", 2, "8")
	c := newClusterWith(t, claims, nodes...)
	c.createDevices(0)
	sized := func(on *corev1.Node, sizes ...string) {
		slice := &resourcev1.ResourceSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "gpus-of-" + on.Name},
			Spec: resourcev1.ResourceSliceSpec{
				Driver: devices.Driver, NodeName: &on.Name, Pool: resourcev1.ResourcePool{Name: on.Name, Generation: 1, ResourceSliceCount: 1},
			},
		}
		for _, size := range sizes {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{
				Name: size, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"size": {StringValue: &size}},
			})
		}
		c.Create(slice)
	}
	ofSize := func(size string) []resourcev1.DeviceSelector {
		expression := `device.attributes["` + devices.Driver + `"].size == "` + size + `"`
		return []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}}
	}
	for name, request := range map[string]resourcev1.DeviceRequest{
		"either": {Name: "gpu", FirstAvailable: []resourcev1.DeviceSubRequest{
			{Name: "large", DeviceClassName: devices.Class, Selectors: ofSize("large")},
			{Name: "small", DeviceClassName: devices.Class, Selectors: ofSize("small")},
		}},
		"large": {Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: devices.Class, Selectors: ofSize("large")}},
	} {
		template := &resourcev1.ResourceClaimTemplate{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workload.Namespace},
			Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{
				Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{request}},
			}},
		}
		_, err := c.Client.ResourceV1().ResourceClaimTemplates(workload.Namespace).Create(
			c.Context(), template, metav1.CreateOptions{})
		c.Must(err)
	}
	sized(nodes[0], "large", "small")
	s := c.serveAndSchedule(muster.Options{Selection: muster.Muster})
	pods := workload.NewMembers("ring", 2, "100m", claiming)
	pods[0].Spec.ResourceClaims[0].ResourceClaimTemplateName = new("either")
	pods[1].Spec.ResourceClaims[0].ResourceClaimTemplateName = new("large")
	c.createPodGroups(workload.NewPodGroup("ring", 2))
	c.createPods(pods...)
	s.awaitWhy("ring", "places for 1 of 2 members")
	if got := c.allocated(); got != 0 {
		t.Errorf("%d claims of a gang that cannot start hold devices", got)
	}
	sized(nodes[1], "large")
	c.awaitBound(2)
	if got := c.allocated(); got != 2 {
		t.Errorf("%d claims of the gang hold devices", got)
	}
}
