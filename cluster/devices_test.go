package cluster

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// sliceOf is a slice of a pool, of a node unless that is "".
func sliceOf(name, pool, node string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       resourcev1.ResourceSliceSpec{Driver: "driver", Pool: resourcev1.ResourcePool{Name: pool}},
	}
	if node != "" {
		s.Spec.NodeName = &node
	} else {
		s.Spec.AllNodes = new(true)
	}
	return s
}

// claimOf is a claim that holds devices of pools, for a pod that made it.
func claimOf(name string, pod types.UID, pools ...string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "default", UID: types.UID("uid-" + name),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: string(pod), UID: pod, Controller: new(true)}},
	}}
	if len(pools) > 0 {
		c.Status.Allocation = &resourcev1.AllocationResult{}
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: string(pod), UID: pod}}
	}
	for _, pool := range pools {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourcev1.DeviceRequestAllocationResult{Driver: "driver", Pool: pool, Device: "0"})
	}
	return c
}

func namesOf[T metav1.Object](objects []T) (names []string) {
	for _, object := range objects {
		names = append(names, object.GetName())
	}
	return names
}

// usingTemplate has the pod use a claim that is made for it, and has been if it has a name.
func usingTemplate(claim string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Namespace = "default"
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("template")}}
		if claim != "" {
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: &claim}}
		}
	}
}

func expectDevices(t *testing.T, when string, devices *Devices, wantSlices, wantClaims []string) {
	t.Helper()
	if devices == nil {
		devices = &Devices{}
	}
	if got := namesOf(devices.Slices); !slices.Equal(got, wantSlices) {
		t.Errorf("%s: slices %v, want %v", when, got, wantSlices)
	}
	if got := namesOf(devices.Claims); !slices.Equal(got, wantClaims) {
		t.Errorf("%s: claims %v, want %v", when, got, wantClaims)
	}
}

func TestDevicesAreWithTheNodeThatHasThemAlone(t *testing.T) {
	c := newCluster(t)
	at := func(node string) *Devices { return c.Snapshot().NodeByName(node).Devices }
	set(t, c, nodeObject("a"), sliceOf("s1", "pool", "a"), claimOf("held", "p", "pool"), claimOf("free", "q"))
	expectDevices(t, "a slice of its own", at("a"), []string{"s1"}, []string{"held"})

	set(t, c, sliceOf("s2", "pool", "b"))
	expectDevices(t, "another node has a part of the pool", at("a"), nil, nil)
	expectDevices(t, "then it is of no one node", c.Snapshot().SharedDevices, []string{"s1", "s2"}, []string{"held"})

	if err := c.Delete(sliceOf("s1", "pool", "a")); err != nil {
		t.Fatal(err)
	}
	set(t, c, nodeObject("b"))
	expectDevices(t, "a node that came after its slice", at("b"), []string{"s2"}, []string{"held"})
	expectDevices(t, "nothing is of no one node", c.Snapshot().SharedDevices, nil, nil)

	before := c.Snapshot()
	set(t, c, sliceOf("s2", "pool", "b"))
	if c.Snapshot() != before {
		t.Error("a slice that says the same makes another snapshot")
	}
	set(t, c, claimOf("held", "p"))
	expectDevices(t, "a claim that is not allocated any more", at("b"), []string{"s2"}, nil)
	set(t, c, sliceOf("all", "network", ""))
	expectDevices(t, "devices of all nodes", c.Snapshot().SharedDevices, []string{"all"}, nil)
}

func TestAPodHasTheClaimsThatItsSpecNames(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("p", usingTemplate("")))
	if problem := c.PendingPod("pod-p").ClaimProblem; problem != "" {
		t.Errorf("where no claim can be read, one is missed: %q", problem)
	}
	set(t, c, sliceOf("s", "pool", "a"))
	if problem := c.PendingPod("pod-p").ClaimProblem; problem != ClaimMissing {
		t.Errorf("once there are devices, its claim is missed: %q", problem)
	}
	claims := func(uid types.UID) ([]string, ClaimProblem) {
		pod := c.PendingPod(uid)
		if pod == nil {
			pod, _ = c.Placed(uid)
		}
		return namesOf(pod.Claims), pod.ClaimProblem
	}
	uid := podObject("p").UID
	for _, step := range []struct {
		name    string
		set     runtime.Object
		want    []string
		problem ClaimProblem
	}{
		{"no claim was made", nodeObject("b"), nil, ClaimMissing},
		{"its status names one that is not there", podObject("p", usingTemplate("made")), nil, ClaimMissing},
		{"it is somebody else's", claimOf("made", "another"), nil, ClaimForeign},
		{"it comes", claimOf("made", uid), []string{"made"}, ""},
		{"it is allocated", claimOf("made", uid, "pool"), []string{"made"}, ""},
	} {
		set(t, c, step.set)
		if got, problem := claims(uid); !slices.Equal(got, step.want) || problem != step.problem {
			t.Errorf("%s: %v, %q, want %v, %q", step.name, got, problem, step.want, step.problem)
		}
	}
	before := c.Snapshot().Generation
	set(t, c, podObject("p", usingTemplate("made"), func(p *corev1.Pod) { p.Spec.NodeName = "a" }))
	node := c.Snapshot().NodeByName("a")
	if len(node.Pods) != 1 || len(node.Pods[0].Claims) != 1 || c.Snapshot().Generation == before {
		t.Fatalf("on its node: %v", node.Pods)
	}
	expectDevices(t, "without the pod what it holds is free", node.WithoutPod(uid).Devices, []string{"s"}, nil)
	expectDevices(t, "another pod frees nothing", node.WithoutPod("other").Devices, []string{"s"}, []string{"made"})

	anew := node.Pods[0].Anew()
	if len(anew.Claims) != 1 || anew.Claims[0].Status.Allocation != nil || anew.Claims[0].UID == "uid-made" || anew.Spec.NodeName != "" {
		t.Errorf("made again: %+v", anew.Claims)
	}
	set(t, c, &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "template", Namespace: "default"}})
	if foreseen := c.Foreseen(NewPod(podObject("q", usingTemplate("")))); len(foreseen.Claims) != 1 || foreseen.ClaimProblem != "" {
		t.Errorf("foreseen: %v %q", foreseen.Claims, foreseen.ClaimProblem)
	}
	if err := c.Delete(podObject("p")); err != nil {
		t.Fatal(err)
	}
	expectDevices(t, "the API still says that they are held", c.Snapshot().NodeByName("a").Devices, []string{"s"}, []string{"made"})
	if left := len(c.claims.users) + len(c.claims.named); left != 0 {
		t.Errorf("%d entries are kept of a pod that is gone", left)
	}
}

// The claim that kube-scheduler makes for extended resources is its pod's, though no spec names it.
func TestAClaimForExtendedResourcesIsItsPods(t *testing.T) {
	c := newCluster(t)
	pod := podObject("p")
	made := claimOf("made", pod.UID, "pool")
	made.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: "true"}
	set(t, c, made, pod)
	if got := c.PendingPod(pod.UID); len(got.Claims) != 1 || len(got.Anew().Claims) != 0 {
		t.Errorf("claims %v, made again %v", got.Claims, got.Anew().Claims)
	}
	elsewhere := claimOf("elsewhere", pod.UID, "pool")
	elsewhere.Annotations, elsewhere.Namespace = made.Annotations, "another"
	set(t, c, elsewhere)
	if got := c.PendingPod(pod.UID); len(got.Claims) != 1 || got.Claims[0].Name != "made" {
		t.Errorf("claims %v: one of another namespace says that it is for the pod", got.Claims)
	}
	if err := c.Delete(made); err != nil {
		t.Fatal(err)
	}
	if got := c.PendingPod(pod.UID); len(got.Claims) != 0 {
		t.Errorf("claims %v of one that is gone", got.Claims)
	}
}

// An amount that no quantity stands for takes for ever to compare.
func TestAmountsOfDevicesAreCapped(t *testing.T) {
	endless := resource.Quantity{}
	if err := endless.UnmarshalJSON([]byte(`"1e100000"`)); err != nil {
		t.Fatal(err)
	}
	amount := map[resourcev1.QualifiedName]resource.Quantity{"memory": endless}
	claim, s := claimOf("c", "p"), sliceOf("s", "pool", "a")
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Exactly: &resourcev1.ExactDeviceRequest{Capacity: &resourcev1.CapacityRequirements{Requests: amount}}},
	}
	s.Spec.Devices = []resourcev1.Device{{Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: endless}}}}
	s.Spec.SharedCounters = []resourcev1.CounterSet{{Counters: map[string]resourcev1.Counter{"memory": {Value: endless}}}}
	for _, object := range []any{claim, s} {
		if _, err := Trim(object); err != nil {
			t.Fatal(err)
		}
	}
	asked, there := amount["memory"], s.Spec.Devices[0].Capacity["memory"].Value
	counted := s.Spec.SharedCounters[0].Counters["memory"].Value
	for _, q := range []resource.Quantity{asked, there, counted} {
		if q.CmpInt64(1<<62) > 0 {
			t.Errorf("an amount is %d digits long", len(q.String()))
		}
	}
}
